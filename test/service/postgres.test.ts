/** The account server on PostgreSQL: for many daemons, in several replicas. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { newId } from '../../src/crypto/id.ts'
import { AppError } from '../../src/errors.ts'
import { openServiceDatabase } from './database.ts'
import { accountSuite } from '../account.suite.ts'
import { enrol, enrolmentOf, newMaker } from './person.ts'
import { freePort, startPostgres, type Postgres } from './postgres.ts'
import { failsToStart, serviceSuite } from './service.suite.ts'
import { openSubject, type Place } from './subject.ts'

/** Never read: the URL decides. */
const file = '/dev/null/account.db'

/** Run SQL on the database, without the program. */
async function plainly(url: string, statements: readonly string[]) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const results = []
    for (const text of statements) results.push((await client.query(text)).rows as unknown[])
    return results
  } finally {
    await client.end()
  }
}

/** The same database behind a wire that can be cut: every connection ends without a word, new ones work. */
async function cuttable(url: string) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const proxy = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = new URL(url)
  address.port = String((proxy.address() as AddressInfo).port)
  return {
    url: address.href,
    cut: async () => {
      const gone = [...sockets].map((socket) => once(socket, 'close'))
      for (const socket of sockets) socket.destroy()
      await Promise.all(gone)
    },
    close: () => new Promise((resolve) => proxy.close(resolve)),
  }
}

/** Succeeds after a few attempts at most: the pool may hand a broken connection out again before it knows. */
async function recovers(call: () => Promise<unknown>) {
  for (let i = 0; i < 9; i++) {
    const done = await call().then(
      () => true,
      () => false,
    )
    if (done) return
  }
  await call()
}

/** What a caller is told of a database that is out of reach: nothing of where it is or how it is entered. */
function away(error: unknown) {
  assert(error instanceof AppError, String(error))
  assert.equal(error.code, 'backend_unavailable')
  assert.doesNotMatch(error.message, /127\.0\.0\.1|\d{4}|postgres|secret|hunter2/i)
  assert(error.cause instanceof Error, 'the log has the cause')
  return true
}

describe('PostgreSQL', () => {
  let postgres: Postgres
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres.stop())

  const newPlace = async () => ({ url: await postgres.newDatabase(), file }) satisfies Place

  accountSuite('PostgreSQL', async () => openSubject(await newPlace()))

  serviceSuite('PostgreSQL', {
    newPlace,
    run: async ({ url }, statements) => void (await plainly(url!, statements)),
    tables: async ({ url }) => {
      const [rows] = await plainly(url!, [
        `select tablename from pg_tables where schemaname = 'public' order by tablename`,
      ])
      return (rows as { tablename: string }[]).map(({ tablename }) => tablename)
    },
  })

  test('four programs start at once on an empty database: one schema, one receipt key', async () => {
    const place = await newPlace()
    const all = await Promise.all(Array.from({ length: 4 }, () => openSubject(place)))
    const people = await Promise.all(all.map(({ server }) => enrol(server)))
    const keys = new Set(people.map(({ enrolment }) => enrolment.receipt_key.x))
    assert.equal(keys.size, 1)
    const [versions] = await plainly(place.url, ['select version from schema_version'])
    assert.deepEqual(versions, [{ version: 1 }])
    await Promise.all(all.map(({ close }) => close()))
  })

  test('ten at once with one code, on two replicas: one account', async () => {
    const place = await newPlace()
    const [a, b] = [await openSubject(place), await openSubject(place)]
    const code = await a.server.newEnrolmentCode()
    const maker = newMaker()
    const all = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) =>
        [a, b][i % 2]!.server.door.enrolment.create(enrolmentOf(maker, code)),
      ),
    )
    assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 5)
    await Promise.all([a.close(), b.close()])
  })

  test('a connection that breaks while idle does not end the program', async () => {
    const url = await postgres.newDatabase()
    const wire = await cuttable(url)
    const { server, close } = await openSubject({ url: wire.url, file })
    const ada = await enrol(server)
    await wire.cut()
    // A conversation with the server: by its end the pool has heard of the cut.
    await plainly(url, ['select 1'])
    await recovers(() => ada.account.context.read({}))
    await close()
    await wire.close()
  })

  test('a connection that breaks in a query fails that query alone', async () => {
    const url = await postgres.newDatabase()
    const wire = await cuttable(url)
    const { server, close } = await openSubject({ url: wire.url, file })
    const ada = await enrol(server)
    const holder = new pg.Client(url)
    await holder.connect()
    await holder.query('begin')
    await holder.query('lock table accounts in access exclusive mode')
    const failed = assert.rejects(ada.account.context.read({}), away)
    const waiting = `select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    while ((await holder.query(waiting)).rowCount === 0);
    await wire.cut()
    await failed
    await holder.end()
    await recovers(() => ada.account.context.read({}))
    await close()
    await wire.close()
  })

  test('a server that went away is told as that by every kind of call', async () => {
    const url = await postgres.newDatabase()
    const wire = await cuttable(url)
    const { service, server, close } = await openSubject({ url: wire.url, file })
    const ada = await enrol(server)
    await Promise.all([wire.cut(), wire.close()])
    const id = newId('gst_', Date.now())
    for (let i = 0; i < 2; i++) {
      await assert.rejects(ada.account.context.read({}), away)
      await assert.rejects(ada.account.connections.list({}), away)
      await assert.rejects(service.authenticate('x'), away)
      await assert.rejects(service.newEnrolmentCode(), away)
      await assert.rejects(service.open.guestPages.opened({ id }, null), away)
    }
    await close()
  })

  test('a wrong password is told without it', async () => {
    const url = (await postgres.newDatabase()).replace('secret-of-tests', 'hunter2-hunter2')
    await failsToStart(
      'failed',
      /^(?!.*hunter2).*127\.0\.0\.1:\d+\/test_/,
      openServiceDatabase({ url, file }),
    )
  })
})

test('a server that is not there, or a URL that is none, is told without the password', async () => {
  const port = await freePort()
  const url = `postgres://ada:hunter2-hunter2@127.0.0.1:${port}/accounts`
  await failsToStart(
    'failed',
    /^(?!.*hunter2).*127\.0\.0\.1:\d+\/accounts.*ECONNREFUSED/,
    openServiceDatabase({ url, file }),
  )
  for (const bad of ['postgres://ada:hunter2@[x', 'postgres://ada:hunter2@host:notaport/x'])
    await failsToStart(
      'failed',
      /^(?!.*hunter2).*not a URL/,
      openServiceDatabase({ url: bad, file }),
    )
})
