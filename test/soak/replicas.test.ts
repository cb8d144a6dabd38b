/**
 * One, two and three account servers on one PostgreSQL, directly and through PgBouncer in
 * transaction mode: proofs, operations under a key, limits and jobs are right at whichever server a
 * request arrives, and no transactions wait for each other in a circle. `PGBOUNCER` is the path of
 * another PgBouncer than the installed one: `PGBOUNCER=/opt/pgbouncer npm run soak replicas`.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type TestContext, describe, test } from 'node:test'
import pg from 'pg'
import type { Account } from '../../src/api/port.ts'
import { AppError } from '../../src/errors.ts'
import { approveInvitation, make } from '../service/connections/connecting.ts'
import { withoutPostgres } from '../service/engines.ts'
import { exportIn } from '../service/exports/exports-subject.ts'
import { type Person, connect, enrol } from '../service/person.ts'
import { pgbouncerVersion, startPgbouncer } from '../service/postgresql/pgbouncer.ts'
import { newDatabase } from '../service/shared-postgres.ts'
import { type LocalSubject, openSubject } from '../service/subject.ts'
import { until } from '../until.ts'
import { sized } from './size.ts'

const PEOPLE = 4
/** An account may invite 200 times in an hour, and invites three people in each round. */
const ROUNDS = sized(1, 60)
/** The rounds take less than an hour of the servers' time, so that the sessions stay valid. */
const ROUND_MS = 45_000
/** The connections from PgBouncer to PostgreSQL. */
const POOLED = 8
/** How often a device sends a write under one key to each server. */
const TIMES = 2
/** The writes that one caller may make in a minute. */
const WRITES = 200
/** Longer than a used proof is remembered, and than the period of its sweep. */
const FORGOTTEN_MS = 10 * 60_000

type Servers = readonly LocalSubject[]
const GET = { method: 'GET', path: '/api/v1/context' }

/** Returns the account of a person at one of the servers. */
function accountAt(servers: Servers, which: number, { keys, enrolment }: Person): Account {
  const { server } = servers[which % servers.length]!
  return server.account({ access_token: enrolment.session.access_token, keys })
}

/** Checks that all others failed with this code, and returns the values of those that did not. */
function fulfilled<T>(results: readonly PromiseSettledResult<T>[], others: string): T[] {
  return results.flatMap((one) => {
    if (one.status === 'fulfilled') return [one.value]
    assert(one.reason instanceof AppError, String(one.reason))
    assert.equal(one.reason.code, others, one.reason.message)
    return []
  })
}

/** One proof is presented to all servers at once: one accepts it. */
async function proveOnce(servers: Servers, { keys, enrolment }: Person): Promise<void> {
  const token = enrolment.session.access_token
  const proof = await servers[0]!.proofOf(keys.auth, { ...GET, token })
  const all = [...servers, ...servers].map(({ service }) => service.authenticate({ token, proof }))
  assert.equal(fulfilled(await Promise.allSettled(all), 'invalid_token').length, 1)
}

/** A write under one key is sent to all servers at once, until all answer: it happens once. */
async function writeOnce(servers: Servers, { id, device }: Person): Promise<string> {
  const [key, display_name] = [randomUUID(), randomUUID()]
  async function send({ service }: LocalSubject): Promise<string> {
    const account = service.as({ account: id, device, session: null, token: null })
    const keyed = { caller: device, key, fingerprint: display_name }
    for (;;)
      try {
        const work = () => account.externalMembers.create({ body: { display_name } })
        return (await service.once(keyed, work)).id
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'in_progress')) throw error
        await setTimeout(10)
      }
  }
  const sent = Array.from({ length: TIMES }, () => servers.map(send)).flat()
  const ids = new Set(await Promise.all(sent))
  assert.equal(ids.size, 1)
  return display_name
}

/** One caller writes at all servers until each rejects it: the limit is for all together. */
async function writeToLimit(servers: Servers): Promise<void> {
  const caller = randomUUID()
  async function writesAt({ service }: LocalSubject): Promise<number> {
    const all = Array.from({ length: WRITES + 1 }, () => service.takeWrite(caller, WRITES))
    return fulfilled(await Promise.allSettled(all), 'rate_limited').length
  }
  const counts = await Promise.all(servers.map(writesAt))
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    WRITES,
  )
}

/**
 * A person opens a connection, the others approve at once and are added, and all of them change it
 * at once. All people do this at the same time, so their transactions lock the same accounts.
 */
async function connectAll(servers: Servers, people: readonly Person[], by: number): Promise<void> {
  const at = (which: number, person: Person) => ({
    ...person,
    account: accountAt(servers, which, person),
  })
  const owner = people[by]!
  const others = people.filter((one) => one !== owner)
  const { id } = await connect(at(by, owner), `Club ${by}`)
  await Promise.all(
    others.map(async (other, i) => {
      const body = { user_id: other.id }
      const invitation = await accountAt(servers, by + i, owner).members.add({ id, body })
      await approveInvitation(at(by + i + 1, other), invitation)
    }),
  )
  for (const [i, { id: member }] of others.entries())
    await make(at(i, owner), id, { op: 'add', member })
  await Promise.all(
    people.map(async (person, i) => {
      const account = accountAt(servers, by + i, person)
      await account.connections.update({ id, body: { name: `Club of ${i}`, favorite: true } })
      await account.notifications.read({ body: {} })
      await account.profile.update({ body: { headline: `${by} ${i}` } })
      const { members } = await account.connections.read({ id })
      assert.equal(members.length, people.length)
    }),
  )
  await make(at(by + 1, owner), id, { op: 'end' })
}

/** Each server starts a job of another person, and no job is left undone or done twice. */
async function work(servers: Servers, people: readonly Person[], client: pg.Client): Promise<void> {
  const exporting = people.slice(0, servers.length)
  for (const [i, person] of exporting.entries()) {
    await accountAt(servers, i, person).exports.create({})
    await exportIn(accountAt(servers, i + 1, person), 'ready')
  }
  for (const [i, person] of exporting.entries()) {
    const { items } = await accountAt(servers, i, person).notifications.list({ limit: 100 })
    assert.equal(items.filter(({ kind }) => kind === 'export_ready').length, 1)
  }
  const { clock } = servers[0]!
  clock.ms += FORGOTTEN_MS
  for (const [i, person] of people.entries()) await accountAt(servers, i, person).profile.read({})
  await until('no expired proof', async () => {
    const { rows } = await client.query(
      `select id from used_proofs where expires_at <= ${clock.ms} limit 1`,
    )
    return rows.length === 0
  })
}

/** Returns how often PostgreSQL has ended a transaction of the database because of a deadlock. */
async function deadlocks(client: pg.Client): Promise<number> {
  // PostgreSQL counts the deadlocks of a connection when it ends.
  const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  await client.query(`select pg_terminate_backend(pid) ${others}`)
  await until('the end of the connections', async () => {
    return (await client.query(`select pid ${others}`)).rows.length === 0
  })
  const { rows } = await client.query<{ deadlocks: number }>(
    `select deadlocks::integer from pg_stat_database where datname = current_database()`,
  )
  return rows[0]!.deadlocks
}

async function exercise(t: TestContext, count: number, way: (url: string) => Promise<string>) {
  const direct = await newDatabase()
  const client = new pg.Client(direct)
  await client.connect()
  t.after(() => client.end())
  const place = { url: await way(direct), file: '/dev/null/account.db' }
  const clock = { ms: Date.UTC(2026, 0, 1) }
  const servers = await Promise.all(Array.from({ length: count }, () => openSubject(place, clock)))
  let isOpen = true
  const close = async () => {
    if (isOpen) await Promise.all(servers.map((server) => server.close()))
    isOpen = false
  }
  t.after(close)
  const people = await Promise.all(
    Array.from({ length: PEOPLE }, (_, i) => enrol(servers[i % count]!.server, `Person ${i}`)),
  )
  const written: string[][] = people.map(() => [])
  const started = performance.now()
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([
      writeToLimit(servers),
      ...people.map((person) => proveOnce(servers, person)),
      ...people.map(async (person, i) => written[i]!.push(await writeOnce(servers, person))),
      ...people.map((_, i) => connectAll(servers, people, i)),
    ])
    clock.ms += ROUND_MS
  }
  for (const [i, person] of people.entries()) {
    const { items } = await accountAt(servers, i, person).externalMembers.list({ limit: 100 })
    const names = items.map(({ display_name }) => display_name)
    assert.deepEqual(names.toSorted(), written[i]!.toSorted())
  }
  await work(servers, people, client)
  await close()
  assert.equal(await deadlocks(client), 0)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  t.diagnostic(`${ROUNDS} rounds of ${PEOPLE} people in ${seconds} s, no deadlock`)
}

const version = pgbouncerVersion()

for (const [name, skip, way] of [
  ['directly', withoutPostgres, () => async (url: string) => url],
  [
    `through PgBouncer ${version ?? ''} in transaction mode`,
    version === null ? 'there is no pgbouncer' : withoutPostgres,
    (t: TestContext) => (url: string) => startPgbouncer(t, url, POOLED),
  ],
] as const)
  describe(`replicas on PostgreSQL ${name}`, { skip }, () => {
    for (const count of [1, 2, 3])
      test(`${count} of them do everything once, within the limits, and without a deadlock`, (t) =>
        exercise(t, count, way(t)))
  })
