/** The first start of a daemon: its ports are open before its account exists. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { daemonHere } from '../cli/terminal.ts'
import { ask } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { newDatabase } from '../service/shared-postgres.ts'
import { freePort } from '../free-port.ts'

it('requests that arrive before the account exists wait for it', async (t) => {
  const url = await newDatabase()
  const holder = new pg.Client(url)
  await holder.connect()
  t.after(() => holder.end())
  await holder.query('begin')
  await holder.query('lock table accounts in exclusive mode')

  const port = String(await freePort())
  const starting = daemonHere(join(freshFolder(t), 'state'), 'error', {
    SVC_DATABASE_URL: url,
    SVC_HTTP_PORT: port,
  })
  t.after(async () => (await starting).close())
  const observer = new pg.Client(url)
  await observer.connect()
  t.after(() => observer.end())
  const waiting =
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  while ((await observer.query(waiting)).rowCount === 0) await setImmediate()

  const address = `http://127.0.0.1:${port}`
  const asked = ask(address, 'POST', '/api/v1/token', { body: { name: 'ci', scope: 'full' } })
  // A request with a foreign host name is rejected at once, so the request before it has arrived.
  const foreign = { headers: { Host: 'example.org' } }
  assert.notEqual((await ask(address, 'GET', '/health', foreign)).status, 200)
  await holder.query('rollback')
  await starting
  const { status, json } = await asked
  assert.equal(status, 201)
  // A token from before the account would not be accepted now.
  const { token } = json as { token: string }
  const body = { label: 'Mum' }
  assert.equal((await ask(address, 'POST', '/api/v1/guest-codes', { token, body })).status, 201)
})
