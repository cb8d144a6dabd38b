/**
 * Two replicas of one account server on one database: their failures lose no write that was
 * acknowledged.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { freePort } from '../free-port.ts'
import { startPostgres } from '../service/postgres.ts'
import { type Json, caller, keyedWrite, listed, mayPass, newToken } from './caller.ts'
import { linkOf, minuteOf, wordsFrom } from './peer.ts'
import { type Child, startDaemon } from './program.ts'
import { login, startBalancer, startReplica } from './servers.ts'

const WRITES = 500
const PEOPLE = ['ada', 'bob']
/** The number of simultaneous writes of each user. */
const IN_FLIGHT = 4
/** The most attempts of a write. */
const ATTEMPTS = 20

/** Repeats a request until it is answered, as a script does that needs its write done once. */
async function persist(address: string, token: string, request: string, body: object) {
  const [method = '', path = ''] = request.split(' ')
  const write = keyedWrite(token, randomUUID(), body, method)
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(address + path, write).catch(() => null)
    const text = answer === null ? 'no answer' : await answer.text()
    if (answer?.ok) return JSON.parse(text) as Json
    const passes = answer === null || mayPass(answer.status, text)
    assert(passes && attempt < ATTEMPTS, `${request}: ${answer?.status} ${text}`)
  }
}

/** A connection as the answers described it. */
interface Outcome {
  id: string
  name: string
  favorite: boolean
}

test('500 writes of two daemons through two replicas are stored once, despite a killed replica, a lost one and a restart of PostgreSQL', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const [a, b] = [await freePort(), await freePort()]
  const { url, taken, keepBack } = await startBalancer(t, [a, b])
  const shared = {
    databaseUrl: await postgres.newDatabase(),
    publicUrl: url,
    mailDir: freshFolder(t),
  }
  const begin = async (port: number): Promise<Child> => {
    const replica = await startReplica(t, port, shared)
    t.after(() => replica.end('SIGKILL'))
    return replica
  }
  let [first, second] = await Promise.all([begin(a), begin(b)])

  const daemons = await Promise.all(
    PEOPLE.map(async (name) => {
      const stateDir = freshFolder(t)
      const daemon = await startDaemon(stateDir, { SVC_BACKEND_URL: url })
      t.after(() => daemon.end('SIGKILL'))
      const { mailDir } = shared
      await login(stateDir, { server: url, mailDir, email: `${name}@example.org` })
      const { token } = await newToken(daemon.address)
      return { name, daemon, token, call: caller(daemon.address, token), outcomes: [] as Outcome[] }
    }),
  )

  /** Kills a replica after it has created a connection, and before its answer is delivered. */
  async function diesUnheard(port: number, replica: Child): Promise<void> {
    assert(taken(port) > 0, 'it was in use')
    await keepBack(port, 'POST /device/v1/rosters ')
    await replica.end('SIGKILL')
  }

  /** Failures by the number of acknowledged writes at which they happen. */
  const mishaps: [at: number, happen: () => Promise<unknown>][] = [
    [
      100,
      async () => {
        await diesUnheard(a, first)
        first = await begin(a)
      },
    ],
    [225, () => postgres.restart()],
    [
      350,
      async () => {
        await diesUnheard(b, second)
      },
    ],
    [
      425,
      async () => {
        second = await begin(b)
      },
    ],
  ]
  let [begun, done] = [0, 0]
  let happened: Promise<unknown> = Promise.resolve()
  const ended: Promise<unknown>[] = []

  /**
   * Counts a write. Failures happen one after the other: no write passes the point of the next
   * one before the last is over.
   */
  async function write<T>(work: () => Promise<T>): Promise<T> {
    const number = begun++
    await Promise.all(ended.filter((_, i) => number >= (mishaps[i + 1]?.[0] ?? WRITES)))
    const answer = await work()
    done++
    for (const [at, happen] of mishaps)
      if (at === done) ended.push((happened = happened.then(happen)))
    return answer
  }

  /** Runs one lane of a client: five writes a round, one after the other. */
  async function work({ name, daemon, token, outcomes }: (typeof daemons)[number], lane: number) {
    const send = (request: string, body: object): Promise<Json> =>
      write(() => persist(daemon.address, token, request, body))
    const create = async (what: string): Promise<Outcome> => {
      const { id, name: given } = await send('POST /api/v1/connections', { name: what })
      const one = { id, name: given, favorite: false }
      outcomes.push(one)
      return one
    }
    const path = ({ id }: Outcome) => `/api/v1/connections/${id}`
    const rounds = WRITES / PEOPLE.length / 5
    for (let round = lane; round < rounds; round += IN_FLIGHT) {
      const renamed = await create(`${name} ${round} a`)
      const after = await send(`PATCH ${path(renamed)}`, { name: `${renamed.name} renamed` })
      renamed.name = after.name
      const liked = await create(`${name} ${round} b`)
      liked.favorite = (await send(`POST ${path(liked)}/favorite`, { favorite: true })).favorite
      await create(`${name} ${round} c`)
    }
  }
  await Promise.all(
    daemons.flatMap((daemon) => Array.from({ length: IN_FLIGHT }, (_, lane) => work(daemon, lane))),
  )
  await happened
  assert.deepEqual([begun, done, ended.length], [WRITES, WRITES, mishaps.length])

  for (const { name, call, outcomes } of daemons) {
    const { last_sync: sync } = await call('POST /api/v1/sync')
    assert.deepEqual([sync.ok, sync.error], [true, null], name)
    const there = await listed(call, '/api/v1/connections')
    const seen = there.map(({ id, name: its, favorite }): Outcome => ({ id, name: its, favorite }))
    const byId = (left: Outcome, right: Outcome) => (left.id < right.id ? -1 : 1)
    assert.deepEqual(seen.sort(byId), outcomes.sort(byId), name)
    assert.equal(new Set(seen.map((one) => one.name)).size, (WRITES / PEOPLE.length / 5) * 3)
    assert(there.every((one) => one.secret_here && one.epoch === 1))
  }

  // No table has rows that no list shows.
  const client = new pg.Client(shared.databaseUrl)
  await client.connect()
  const made = (WRITES / 5) * 3
  for (const table of ['connections', 'memberships', 'roster_entries', 'envelopes']) {
    const { rows } = await client.query(`select count(*)::integer as n from ${table}`)
    assert.deepEqual(rows, [{ n: made }], table)
  }
  await client.end()

  for (const { call } of daemons) {
    const connection = await call('POST /api/v1/connections', { name: 'fresh' })
    const { words: own, valid_from } = await call(`GET /api/v1/connections/${connection.id}/code`)
    const echo = await call('POST /api/v1/verify', { words: own })
    assert.deepEqual([echo.echo, echo.matches[0].connection_name], [true, 'fresh'])
    const { k, id } = linkOf((await call('POST /api/v1/guest-codes', { label: 'Plumber' })).url)
    const window = minuteOf(valid_from)
    const words = wordsFrom({ label: 'guest', k, subject: id, speaker: id, window })
    const { verified, conclusive } = await call('POST /api/v1/verify', { words })
    assert.deepEqual([verified, conclusive], [true, true])
  }

  for (const { daemon } of daemons) {
    assert.equal(await daemon.end('SIGTERM'), 0)
    assert.doesNotMatch(daemon.log(), /"error":"internal"/)
  }
  for (const replica of [first, second]) {
    assert.equal(await replica.end('SIGTERM'), 0)
    assert.doesNotMatch(replica.log(), /"error":"internal"/)
  }
})
