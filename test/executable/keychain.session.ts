/** Run by session.ts inside a session with an unlocked keyring. */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { ask } from '../daemon.ts'
import { caller } from '../e2e/caller.ts'
import { newStage } from './stage.ts'

const SESSION = ['DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'XDG_DATA_HOME', 'HOME']

test('tokens and keys survive a restart; without the bus the error names it and nothing is stored elsewhere', async (t) => {
  const session = Object.fromEntries(SESSION.map((name) => [name, process.env[name] as string]))
  const stage = newStage(t, process.env['EXECUTABLE'] as string, {
    env: { ...session, SVC_KEYCHAIN: 'auto' },
    asSelf: true,
  })
  const dir = stage.env['SVC_STATE_DIR'] as string
  const inFolder = () => readdirSync(dir).filter((name) => /key/.test(name))

  const first = await stage.serve()
  const made = await ask(first.address, 'POST', '/api/v1/token', {
    body: { name: 'kept', scope: 'full' },
  })
  const { token } = made.json as { token: string }
  const { id } = await caller(first.address, token)('POST /api/v1/connections', { name: 'Bank' })
  const status = await caller(first.address, token)('GET /api/v1/status')
  assert.equal(status.keychain, 'os')
  assert.equal(await first.end(), 0)
  assert.deepEqual(inFolder(), ['keychain.json'], 'no secret and no library lies in the folder')

  const second = await stage.serve()
  const call = caller(second.address, token)
  const { words } = await call(`GET /api/v1/connections/${id}/code`)
  assert.match(words, /^[a-z]+ [a-z]+ [a-z]+$/)
  assert.match((await call('POST /api/v1/stamp', { content: 'x' })).stamp, /^eyJ/)
  assert.equal(await second.end(), 0)

  const before = readFileSync(join(dir, 'keychain.json'), 'utf8')
  for (const name of SESSION) delete stage.env[name]
  const { code, err } = await stage.run(['serve'])
  assert.equal(code, EXIT.keychain)
  assert.match(err, /The keychain is not available: there is no session bus/)
  assert.match(err, /Start countersignd inside the user's session/)
  assert.deepEqual(inFolder(), ['keychain.json'])
  assert.equal(readFileSync(join(dir, 'keychain.json'), 'utf8'), before)
})
