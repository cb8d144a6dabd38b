/** PostgreSQL with faults, such as no answer or a deadlock, and the limits of its connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import { DATABASE_DEFAULTS } from '../../src/config/database.ts'
import { queriesOver } from '../../src/service/db/database.ts'
import { postgresql } from '../../src/service/db/engine.ts'
import { newReach } from '../../src/service/db/faults.ts'
import { startAccountServer } from '../account-server.ts'
import { gate } from '../device/enrolled.ts'
import { newDatabase } from './shared-postgres.ts'
import { rejects } from '../rejects.ts'
import { until } from '../until.ts'

/**
 * Starts a proxy that can fall silent: connections stay open, and no answer passes through any
 * more.
 */
async function silenceable(t: TestContext, url: string) {
  const { hostname, port } = new URL(url)
  const far: Socket[] = []
  let silent = false
  const proxy = createServer((near) => {
    const other = connect(Number(port), hostname)
    far.push(other)
    near.pipe(other)
    other.on('data', (data) => silent || near.write(data))
    near.on('error', () => undefined).on('close', () => other.destroy())
    other.on('error', () => undefined).on('close', () => near.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => {
    for (const socket of far) socket.destroy()
    proxy.close()
  })
  const address = new URL(url)
  address.port = String((proxy.address() as AddressInfo).port)
  return { url: address.href, hush: (now: boolean) => void (silent = now) }
}

const one = sql<{ n: number }>`select 1 as n`

test('a query without an answer fails as an outage, and its connection is closed', async (t) => {
  const wire = await silenceable(t, await newDatabase())
  const engine = await postgresql(wire.url, undefined, 300)
  t.after(() => engine.close())
  const db = await queriesOver(engine)
  const { reaching } = newReach(engine.isAway)
  assert.equal((await reaching(() => one.execute(db))).rows.length, 1)
  wire.hush(true)
  await rejects(
    'backend_unavailable',
    reaching(() => one.execute(db)),
  )
  wire.hush(false)
  assert.equal((await reaching(() => one.execute(db))).rows.length, 1)
})

test('a server stays alive while its database is silent, and reports that it is not ready before a query fails', async (t) => {
  const wire = await silenceable(t, await newDatabase())
  const server = await startAccountServer(t, { SVC_DATABASE_URL: wire.url })
  assert.equal((await server.request('GET', '/health/ready')).status, 200)
  wire.hush(true)
  assert.equal((await server.request('GET', '/health')).status, 200)
  // The result of an examination is kept for a second.
  const { text } = await until('the server is not ready', async () => {
    const answer = await server.request('GET', '/health/ready')
    return answer.status === 503 ? answer : null
  })
  assert.match(text, /"backend_unavailable"/)
  assert.match(text, /The database does not answer\./)
})

test('deadlocked transactions that PostgreSQL undoes are repeated', async (t) => {
  const engine = await postgresql(await newDatabase())
  t.after(() => engine.close())
  const db = await queriesOver(engine)
  await sql`create table counts (id int primary key, n int)`.execute(db)
  await sql`insert into counts values (1, 0), (2, 0)`.execute(db)
  const met = [gate(), gate()] as const
  let runs = 0
  const both = async (mine: 0 | 1) =>
    db.transaction().execute(async (trx) => {
      runs += 1
      const add = (id: number) => sql`update counts set n = n + 1 where id = ${id}`.execute(trx)
      await add(mine + 1)
      met[mine].resolve()
      await met[1 - mine]!.promise
      await add(2 - mine)
    })
  await Promise.all([both(0), both(1)])
  const { rows } = await sql<{ n: number }>`select n from counts`.execute(db)
  assert.deepEqual(
    rows.map(({ n }) => n),
    [2, 2],
  )
  // PostgreSQL undoes one of them, or both if both wait equally long.
  assert(runs > 2)
})

test('a transaction that is undone every time is an outage after some attempts', async (t) => {
  const engine = await postgresql(await newDatabase())
  t.after(() => engine.close())
  const db = await queriesOver(engine)
  const { reaching } = newReach(engine.isAway)
  let runs = 0
  const undone = sql`do $$ begin raise exception 'undone' using errcode = '40001'; end $$`
  const transaction = () =>
    db.transaction().execute(async (trx) => {
      runs += 1
      await undone.execute(trx)
    })
  await rejects('backend_unavailable', reaching(transaction))
  assert.ok(runs > 3 && runs < 20, String(runs))
  await rejects(
    'backend_unavailable',
    reaching(() => undone.execute(db)),
  )
})

for (const [what, more, code] of [
  ['a statement that waits too long for a lock', { lockTimeoutMs: 50 }, '55P03'],
  ['a statement that takes too long', { statementTimeoutMs: 50 }, '57014'],
] as const)
  test(`${what} is an outage`, async (t) => {
    const url = await newDatabase()
    const [engine, other] = [
      await postgresql(url, { ...DATABASE_DEFAULTS, ...more }),
      await postgresql(url),
    ]
    t.after(() => Promise.all([engine.close(), other.close()]))
    const [db, holder] = [await queriesOver(engine), await queriesOver(other)]
    const { reaching } = newReach(engine.isAway)
    await holder.transaction().execute(async (trx) => {
      await sql`lock table accounts in access exclusive mode`.execute(trx)
      const read = reaching(() => db.selectFrom('accounts').select('id').execute())
      const { cause } = await rejects('backend_unavailable', read)
      assert.equal((cause as { code?: unknown }).code, code)
    })
  })

test('there are at most as many connections as configured', async (t) => {
  const engine = await postgresql(await newDatabase(), { ...DATABASE_DEFAULTS, poolSize: 3 })
  t.after(() => engine.close())
  const db = await queriesOver(engine)
  const processes = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
      return rows[0]!.pid
    }),
  )
  assert.equal(new Set(processes).size, 3)
})

test('a connection that only reads is an outage, and the next request gets another one', async (t) => {
  const url = await newDatabase()
  const owner = await postgresql(url)
  t.after(() => owner.close())
  const admin = await queriesOver(owner)
  await sql`create table written (n integer)`.execute(admin)
  const database = sql.id(new URL(url).pathname.slice(1))
  await sql`alter database ${database} set default_transaction_read_only = on`.execute(admin)
  const engine = await postgresql(url, { ...DATABASE_DEFAULTS, poolSize: 1 })
  t.after(() => engine.close())
  const { reaching } = newReach(engine.isAway)
  const db = await queriesOver(engine)
  const write = () => reaching(() => sql`insert into written values (1)`.execute(db))
  const { cause } = await rejects('backend_unavailable', write())
  assert.equal((cause as { code?: unknown }).code, '25006')
  await sql`alter database ${database} reset default_transaction_read_only`.execute(admin)
  await write()
})

test('a role without a free connection (SQLSTATE 53300) is an outage, and the call returns', async (t) => {
  const url = await newDatabase()
  const owner = await postgresql(url, undefined, 3000)
  t.after(() => owner.close())
  const admin = await queriesOver(owner)
  await sql`create role limited login password 'limited' connection limit 0`.execute(admin)
  await sql`grant all on schema public to limited`.execute(admin)
  const engine = await postgresql(url.replace(/\/\/[^@]*@/, '//limited:limited@'), undefined, 3000)
  t.after(() => engine.close())
  const { reaching } = newReach(engine.isAway)
  const db = await queriesOver(engine)
  const away = reaching(() => one.execute(db))
  const { cause } = await rejects('backend_unavailable', away)
  assert.equal((cause as { code?: unknown }).code, '53300')
  await sql`alter role limited connection limit -1`.execute(admin)
  assert.equal((await reaching(() => one.execute(db))).rows.length, 1)
})
