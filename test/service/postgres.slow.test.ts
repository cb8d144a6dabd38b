/** The account server on PostgreSQL: for many daemons, in several replicas. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import pg from 'pg'
import { newId } from '../../src/crypto/encoding/id.ts'
import { AppError } from '../../src/errors.ts'
import { ACCOUNT_MIGRATIONS } from '../../src/service/db/migrations.ts'
import { openServiceDatabase } from './database.ts'
import { accountSuite } from '../account.suite.ts'
import { approveInvitation, make } from './connections/connecting.ts'
import { connectionsSuite } from './connections/connections.suite.ts'
import {
  approve,
  enrol,
  enrolByMail,
  enrolmentOf,
  join,
  mailedCode,
  newAddress,
  newMaker,
  opening,
  resetOf,
  revocationBy,
} from './person.ts'
import { newPostgresPlace } from './engines.ts'
import { freePort } from '../free-port.ts'
import { logPagesSuite } from './connections/log-pages.suite.ts'
import { proofsSuite } from './proofs.suite.ts'
import { entranceSuite } from './entrance.suite.ts'
import { failsToStart, serviceSuite } from './service.suite.ts'
import { emptyDatabase, newDatabase } from './shared-postgres.ts'
import { rostersSuite } from './connections/rosters.suite.ts'
import { openSubject, type Place } from './subject.ts'
import { rejects } from '../rejects.ts'
import { until } from '../until.ts'

/** Never read: the server opens the URL. */
const file = '/dev/null/account.db'

/** Runs SQL on the database, without the program. */
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

/**
 * Waits until a query waits for a lock. It asks on another connection than the one with the lock,
 * because inside one transaction the view does not change.
 */
const lockAwaited = (url: string) =>
  until('a query that waits for a lock', async () => {
    const [rows] = await plainly(url, [
      `select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    ])
    return (rows as unknown[]).length > 0
  })

/**
 * Starts a proxy to the database that can be cut. A cut closes every connection without a
 * message; new connections work.
 */
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

/**
 * Calls a function until it succeeds, a few times at most. The pool may return a broken
 * connection before it detects the fault.
 */
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

/**
 * Checks the error of an unreachable database: it has neither the address nor the credentials.
 */
function away(error: unknown) {
  assert(error instanceof AppError, String(error))
  assert.equal(error.code, 'backend_unavailable')
  assert.doesNotMatch(error.message, /127\.0\.0\.1|\d{4}|postgres|secret|hunter2/i)
  assert(error.cause instanceof Error, 'the log has the cause')
  return true
}

describe('PostgreSQL', () => {
  const newPlace = newPostgresPlace
  const emptyPlace = async () => ({ url: await emptyDatabase(), file }) satisfies Place

  accountSuite('PostgreSQL', async () => openSubject(await newPlace()))

  logPagesSuite('PostgreSQL', async (more) => openSubject(await newPlace(), undefined, more))

  connectionsSuite('PostgreSQL', { newPlace })

  rostersSuite('PostgreSQL', { newPlace })

  proofsSuite('PostgreSQL', { newPlace })

  entranceSuite('PostgreSQL', { newPlace })

  serviceSuite('PostgreSQL', {
    idType: 'text collate "C"',
    newPlace: emptyPlace,
    run: async ({ url }, statements) => void (await plainly(url!, statements)),
    tables: async ({ url }) => {
      const [rows] = await plainly(url!, [
        `select tablename from pg_tables where schemaname = 'public' order by tablename`,
      ])
      return (rows as { tablename: string }[]).map(({ tablename }) => tablename)
    },
  })

  test('four processes that start on an empty database at once make one schema and one receipt key', async () => {
    const place = await emptyPlace()
    const all = await Promise.all(Array.from({ length: 4 }, () => openSubject(place)))
    const people = await Promise.all(all.map(({ server }) => enrol(server)))
    const keys = new Set(people.map(({ enrolment }) => enrolment.receipt_key.x))
    assert.equal(keys.size, 1)
    const [versions] = await plainly(place.url!, [
      'select version from schema_version order by version',
    ])
    const each = ACCOUNT_MIGRATIONS.map(({ version }) => ({ version }))
    assert.deepEqual(versions, each)
    await Promise.all(all.map(({ close }) => close()))
  })

  test('ten concurrent enrolments with one code, on two replicas, make one account', async () => {
    const place = await newPlace()
    const [a, b] = [await openSubject(place), await openSubject(place)]
    const code = await a.server.newEnrolmentCode()
    const maker = newMaker()
    const all = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) =>
        [a, b][i % 2]!.server.door().enrolment.create(enrolmentOf(maker, code)),
      ),
    )
    assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 10)
    const { key_log } = await a.server.door().signIns.read({ body: { code } })
    assert.deepEqual(key_log, [maker.entry])
    await Promise.all([a.close(), b.close()])
  })

  test('with thousands of accounts, no query scans a whole table', async () => {
    const place = await newPlace()
    await (await openServiceDatabase(place)).close()
    const many = 'from generate_series(1, 3000) as n'
    const soon = 4_000_000_000_000
    await plainly(place.url!, [
      `insert into accounts select 'a' || n, 'person', 'Ada' ${many}`,
      `insert into emails select 'a' || n || '@example.org', 'a' || n, 1, 0 ${many}`,
      `insert into devices (id, account_id, name, platform, auth_kid, approved_at)
        select 'd' || n, 'a' || n, 'desk', 'linux', 'k' || n, 0 ${many}`,
      `insert into key_log_entries select 'a' || n, 0, 'e', 0 ${many}`,
      `insert into sessions select 's' || n, 'a' || n, 'd' || n, 'r' || n, 0, 0, 1 ${many}`,
      `insert into access_tokens select 't' || n, 's' || n, ${soon} ${many}`,
      `insert into enrolment_codes select 'l' || n, 'x', null, 0, ${soon},
        case when n <= 900 then 'a' || n || '@example.org' end ${many}`,
      `insert into used_proofs select 'p' || n, ${soon} ${many}`,
      `insert into connections select 'c' || n, 1, 0 ${many}`,
      `insert into memberships select 'a' || n, 'c' || n, 'owner', 'Bob', 0, 0 ${many}`,
      `insert into envelopes (connection_id, epoch, recipient, envelope, sender)
        select 'c' || n, 1, 'd' || n, 'e', 'd' || n ${many}`,
      `insert into roster_entries select 'c' || n, 0, 'e' ${many}`,
      `insert into invitations select 'i' || n, 'c' || n, 'Bob', 'a' || n,
        case when n <= 1500 then 'a' || (n + 1) end, 'b' || n || '@example.org',
        case when n <= 1500 then 'approved' else 'pending' end,
        case when n <= 1500 then 2 else 0 end, 0, ${soon} ${many}`,
      `insert into preferences select 'a' || n, null, null, 0, 1 ${many}`,
      `insert into tries select 'a' || n, 'invitation', 'x', ${soon} ${many}`,
      'analyze',
    ])
    const { server, close } = await openSubject(place)
    const email = newAddress()
    const ada = await enrolByMail(server, email)
    const laptop = await join(server, await mailedCode(server, email))
    const mailbox = newAddress()
    const bob = await enrolByMail(server, mailbox)
    const openClub = async (by: typeof ada) =>
      by.account.rosters.open({ body: { ...(await opening(by)), invite: [{ email: mailbox }] } })
    await plainly(place.url!, ['select pg_stat_reset()'])
    const { refresh_token } = ada.enrolment.session
    await server.door(ada.keys.auth).session.renew({ body: { refresh_token } })
    await ada.account.pendingDevices.read({ id: laptop.device })
    await approve(ada, laptop)
    await ada.account.context.read({})
    await ada.account.devices.list({})
    await ada.account.profiles.read({ id: laptop.enrolment.account_id })
    const { id } = await openClub(ada)
    const [asked] = (await bob.account.invitations.list({})).received
    await approveInvitation(bob, { id: asked!.id })
    await ada.account.duties.read({})
    await make(ada, id, { op: 'add', member: bob.id })
    await ada.account.connections.list({})
    await ada.account.invitations.pending({})
    await bob.account.duties.read({})
    const entry = await revocationBy(ada, laptop.device)
    await ada.account.keyLogs.append({ body: { entry } })
    await resetOf(server, ada.id, await mailedCode(server, email))
    // A connection reports its statistics when it ends.
    await close()
    const [scans] = await plainly(place.url!, [
      'select relname, seq_tup_read from pg_stat_user_tables where seq_tup_read > 1000',
    ])
    assert.deepEqual(scans, [])
    const [used] = await plainly(place.url!, [
      `select count(*)::int as tables from pg_stat_user_tables where idx_scan > 0`,
    ])
    assert.ok((used as { tables: number }[])[0]!.tables >= 8, JSON.stringify(used))
  })

  test('a connection that breaks while idle does not end the process', async () => {
    const url = await newDatabase()
    const wire = await cuttable(url)
    const { server, close } = await openSubject({ url: wire.url, file })
    const ada = await enrol(server)
    await wire.cut()
    // A round trip to the server: when it ends, the pool has detected the cut.
    await plainly(url, ['select 1'])
    await recovers(() => ada.account.context.read({}))
    await close()
    await wire.close()
  })

  test('a renewal that waits for the end of its session stores no token', async () => {
    const url = await newDatabase()
    const { server, close } = await openSubject({ url, file })
    const ada = await enrol(server)
    await ada.account.context.read({})
    const { session_id: id, refresh_token } = ada.enrolment.session
    const holder = new pg.Client(url)
    await holder.connect()
    await holder.query('begin')
    await holder.query('delete from sessions where id = $1', [id])
    const renewal = server.door(ada.keys.auth).session.renew({ body: { refresh_token } })
    const refused = rejects('invalid_token', renewal)
    await lockAwaited(url)
    await holder.query('commit')
    await refused
    const [tokens] = await plainly(url, ['select session_id from access_tokens'])
    assert.deepEqual(tokens, [])
    await holder.end()
    await close()
  })

  test('a connection that breaks during a query fails that query alone', async () => {
    const url = await newDatabase()
    const wire = await cuttable(url)
    const { server, close } = await openSubject({ url: wire.url, file })
    const ada = await enrol(server)
    const holder = new pg.Client(url)
    await holder.connect()
    await holder.query('begin')
    await holder.query('lock table accounts in access exclusive mode')
    const failed = assert.rejects(ada.account.context.read({}), away)
    await lockAwaited(url)
    await wire.cut()
    await failed
    await holder.end()
    await recovers(() => ada.account.context.read({}))
    await close()
    await wire.close()
  })

  test('every kind of call reports an unreachable server as an outage', async () => {
    const url = await newDatabase()
    const wire = await cuttable(url)
    const { service, server, close } = await openSubject({ url: wire.url, file })
    const ada = await enrol(server)
    await Promise.all([wire.cut(), wire.close()])
    const id = newId('gst_', Date.now())
    for (let i = 0; i < 2; i++) {
      await assert.rejects(ada.account.context.read({}), away)
      await assert.rejects(ada.account.connections.list({}), away)
      await assert.rejects(service.authenticate({ token: 'csm_x', proof: null }), away)
      await assert.rejects(service.open.siteHealth.ready({}, { key: null }), away)
      await assert.rejects(service.newEnrolmentCode(), away)
      await assert.rejects(service.open.guestPages.opened({ id }, { key: null }), away)
    }
    await close()
  })

  test('the error for a wrong password does not contain it', async () => {
    const url = (await newDatabase()).replace('secret-of-tests', 'hunter2-hunter2')
    await failsToStart(
      'failed',
      /^(?!.*hunter2).*127\.0\.0\.1:\d+\/test_/,
      openServiceDatabase({ url, file }),
    )
  })
})

test('errors for an unreachable server and for an invalid URL do not contain the password', async () => {
  const port = await freePort()
  const url = `postgres://ada:hunter2-hunter2@127.0.0.1:${port}/accounts`
  await failsToStart(
    'failed',
    /^(?!.*hunter2).*127\.0\.0\.1:\d+\/accounts.*ECONNREFUSED/,
    openServiceDatabase({ url, file }),
  )
  for (const bad of [
    'postgres://ada:hunter2@[x',
    'postgres://ada:hunter2@host:notaport/x',
    'postgres://ada:/hunter2@host/x',
    'postgres://ada:1/hunter2@host/x',
    'postgres://ada:1?hunter2@host/x',
  ])
    await failsToStart(
      'failed',
      /^(?!.*hunter2).*is not valid/,
      openServiceDatabase({ url: bad, file }),
    )
})
