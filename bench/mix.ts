/**
 * Measures what the requests of daemons cost an account server on PostgreSQL, at several numbers of
 * accounts, in alternation: the CPU time of PostgreSQL and of the server for an idle sync and for a
 * mix of requests, the bytes of PostgreSQL's log, its commits, and the bytes of HTTP. The CPU time
 * of PostgreSQL is also divided by that of one prepared look-up by key in the same run, as
 * `pgbench --select-only --protocol=prepared` makes it. Linux only.
 *
 *   npm run bench:mix                        1,000 to 100,000 accounts, 20 connections each
 *   npm run bench:mix -- 1000:20 1000000:4   other numbers of accounts, and of connections of each
 *
 * The rows are in the folder of temporary files (`TMPDIR`): about 6 kB for each account and 5.5 kB
 * for each of its connections.
 *
 * Without huge pages, each connection of PostgreSQL maps each page of the shared buffers by itself,
 * which costs more the more accounts there are: `sysctl -w vm.nr_hugepages=1200` before the run.
 */
import { randomInt, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { newId } from '../src/crypto/encoding/id.ts'
import { openServiceDatabase } from '../test/service/database.ts'
import { freePort } from '../test/free-port.ts'
import { startPostgres } from '../test/service/postgres.ts'
import { proofBy } from '../test/service/proof.ts'
import { median, say } from './figures.ts'
import { load } from './load.ts'
import { KEY, fillWithMix, personOf } from './mix-rows.ts'
import { newLookUp, postmasterOf, usedBy } from './postgres-usage.ts'
import { type Program, cpuMs, listening, spawnAccountServer } from './programs.ts'

const SIZES = ['1000:20', '10000:20', '100000:20']
/** Measured rounds, after one that is not counted. */
const ROUNDS = 3
/**
 * The accounts of each size that send requests, spread over all. In a round each of them syncs
 * once, and sends two requests of the mix on average. Before that, no device was seen for a day,
 * because between two syncs of a daemon it is not seen for longer than a minute. So the share of
 * the mix that stores when a device was seen is about that of a real day.
 */
const CALLERS = 750
/** The requests of a round for each kind and caller. */
const KINDS = { 'idle sync': 1, mix: 2 } as const
const LOOK_UPS = 5000
/** The requests of each kind before a measurement. */
const WARM_UP = 120

interface Person extends ReturnType<typeof personOf> {
  /** The place of the latest sync, for `GET /device/v1/changes`. */
  since: string
}
interface Question {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly body?: object
  /** Whether the request proves only the key, and carries no access token. */
  readonly isOpen?: boolean
}

/** A check of words, as a daemon uploads it. */
const checked = () => ({
  id: newId('ver_', Date.now()),
  at: new Date().toISOString(),
  method: 'local',
  outcome: 'not_verified',
  matches: [],
  caller: null,
})

const FIRST_SYNC: Question = { method: 'GET', path: '/device/v1/changes' }
/** A part of the answer to a sync without news. */
const NO_NEWS = '"changed":[],"lists":[]'

/**
 * The requests of one daemon in a day. The first two follow from its schedule: it syncs every 15
 * minutes, and an access token is valid for an hour. It reads everything once a day, and compares
 * the newest entries of the key logs of the accounts that it follows every hour. The others are an
 * assumption about its user: 16 openings of the list, four checks of words, and so on. Reads and
 * changes of rosters are left out, because they follow rare changes, and because these rosters are
 * not signed.
 */
const DAY: readonly [times: number, question: (of: Person) => Question][] = [
  [92, ({ since }) => ({ method: 'GET', path: `/device/v1/changes?since=${since}` })],
  [
    24,
    ({ refreshToken: refresh_token }) => ({
      method: 'POST',
      path: '/device/v1/session',
      body: { refresh_token },
      isOpen: true,
    }),
  ],
  [24, () => ({ method: 'GET', path: '/device/v1/followed-key-logs' })],
  [1, () => FIRST_SYNC],
  [1, () => ({ method: 'GET', path: '/device/v1/duties' })],
  [1, () => ({ method: 'GET', path: '/api/v1/guest-codes' })],
  [1, () => ({ method: 'GET', path: '/api/v1/trust-cards' })],
  [16, () => ({ method: 'GET', path: '/api/v1/connections' })],
  [16, ({ connection }) => ({ method: 'GET', path: `/api/v1/connections/${connection}` })],
  [8, () => ({ method: 'GET', path: '/api/v1/notifications' })],
  [8, () => ({ method: 'GET', path: '/api/v1/profile' })],
  [4, () => ({ method: 'POST', path: '/device/v1/verifications', body: { items: [checked()] } })],
  [
    2,
    ({ connection }) => ({
      method: 'PATCH',
      path: `/api/v1/connections/${connection}`,
      body: { name: `A friend ${randomUUID()}` },
    }),
  ],
]
const SYNC = DAY[0]![1]
/** The questions of a day, each as often as it is sent. */
const MIX = DAY.flatMap(([times, question]) => Array.from({ length: times }, () => question))

/** An account server over a database with some number of accounts. */
interface Bench {
  readonly name: string
  readonly url: string
  readonly program: Program
  readonly people: readonly Person[]
  readonly textOf: (question: Question, of: Person) => string
  /** Keeps the nonce of an answer. */
  readonly onAnswer: (text: string) => void
  /** Requests a nonce, because an earlier one is valid only for some minutes. */
  readonly readNonce: () => Promise<void>
  readonly closers: (() => unknown)[]
}

async function openBench(size: string, url: string, at: number): Promise<Bench> {
  const [accounts, connections] = size.split(':').map(Number) as [number, number]
  const began = performance.now()
  await (await openServiceDatabase({ url, file: '' })).close()
  const bytes = await fillWithMix(url, { accounts, connections, at })
  const name = `${accounts} × ${connections}`
  const seconds = (performance.now() - began) / 1000
  say(`${name}: ${(bytes / 1e9).toFixed(2)} GB in ${seconds.toFixed(0)} s`)

  const [port, stateDir] = [await freePort(), mkdtempSync(join(tmpdir(), 'countersign-mix-'))]
  const program = spawnAccountServer(port, stateDir, url)
  await listening(program)
  const origin = `http://127.0.0.1:${port}`
  let nonce: string | undefined

  const textOf = ({ method, path, body, isOpen }: Question, { token }: Person): string => {
    const proof = proofBy(KEY, {
      method,
      url: origin + path,
      at: Math.floor(Date.now() / 1000),
      ...(isOpen === true ? {} : { accessToken: token }),
      ...(nonce === undefined ? {} : { nonce }),
    })
    const sent = body === undefined ? '' : JSON.stringify(body)
    const lines = [
      `${method} ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      `DPoP: ${proof}`,
      ...(isOpen === true ? [] : [`Authorization: DPoP ${token}`]),
      ...(sent === '' ? [] : ['Content-Type: application/json', `Content-Length: ${sent.length}`]),
    ]
    return `${lines.join('\r\n')}\r\n\r\n${sent}`
  }
  const onAnswer = (text: string) => {
    nonce = /^dpop-nonce: (\S+)/im.exec(text)?.[1] ?? nonce
  }
  const readNonce = async () => {
    const refused = await fetch(`${origin}/device/v1/changes`, {
      headers: { DPoP: 'none', Authorization: `DPoP ${personOf(0).token}` },
    })
    nonce = refused.headers.get('dpop-nonce') ?? undefined
  }

  const count = Math.min(CALLERS, accounts)
  const people = Array.from({ length: count }, (_, i) => ({
    ...personOf(Math.floor((i * accounts) / count)),
    since: '',
  }))
  const remove = () => rmSync(stateDir, { recursive: true })
  const closers = [() => program.stop(), remove]
  return { name, url, program, people, textOf, onAnswer, readNonce, closers }
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await work(client)
  await client.end()
}

/** Stores that no device was seen for a day. */
async function forgetSeen(client: pg.Client, { people }: Bench): Promise<void> {
  const accounts = people.map(({ account }) => account)
  await client.query(`update sessions set last_seen_at = created_at where account_id = any($1)`, [
    accounts,
  ])
}

/** Syncs as each caller, which then has the place without news. */
async function readPlaces({ people, textOf, onAnswer, program }: Bench): Promise<void> {
  let [asked, answered] = [0, 0]
  const next = () => textOf(FIRST_SYNC, people[asked++]!)
  const keep = (text: string) => {
    onAnswer(text)
    const { since } = JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as { since: string }
    people[answered++]!.since = since
  }
  // With one connection, the answers come in the order of the requests.
  await load(program.port, next, people.length, { connections: 1, onAnswer: keep })
}

/**
 * Sends each request of a day some times. PostgreSQL plans the first five executions of a statement
 * in each connection, and a server closes connections that it did not use for ten seconds, which
 * happens while another size is measured.
 */
async function warmUp(bench: Bench): Promise<void> {
  const { people, textOf, onAnswer, readNonce, program } = bench
  await readNonce()
  for (const [, question] of DAY) {
    const next = () => {
      const person = people[randomInt(people.length)]!
      return textOf(question(person), person)
    }
    await load(program.port, next, WARM_UP, { onAnswer })
  }
  await readPlaces(bench)
}

/**
 * Sends the requests of one kind in a round.
 * @returns how many, and the bytes of requests and answers without TLS
 */
async function send(
  kind: keyof typeof KINDS,
  { people, textOf, onAnswer, program }: Bench,
): Promise<{ times: number; wire: number }> {
  const times = people.length * KINDS[kind]
  let at = randomInt(people.length)
  let wire = 0
  const next = () => {
    // A mix meets each caller any number of times, and an idle sync once.
    at = kind === 'mix' ? randomInt(people.length) : (at + 1) % people.length
    const person = people[at]!
    const question = kind === 'mix' ? MIX[randomInt(MIX.length)]!(person) : SYNC(person)
    const text = textOf(question, person)
    wire += text.length
    return text
  }
  const counting = (text: string) => {
    wire += text.length
    if (kind === 'idle sync' && !text.includes(NO_NEWS)) throw new Error(`news: ${text}`)
    onAnswer(text)
  }
  await load(program.port, next, times, { onAnswer: counting })
  return { times, wire }
}

/** Returns how much PostgreSQL has written: bytes of its log, and transactions that wrote. */
async function writtenBy(client: pg.Client): Promise<{ bytes: number; commits: number }> {
  const { rows } = await client.query<{ bytes: number; commits: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes,
      pg_snapshot_xmax(pg_current_snapshot())::text::float8 as commits`,
  )
  return rows[0]!
}

const closers: (() => unknown)[] = []

async function main(sizes: readonly string[]): Promise<void> {
  const at = Date.now()
  const postgres = await startPostgres({ shared_buffers: '2GB' })
  closers.push(() => postgres.stop())
  const client = new pg.Client(await postgres.newDatabase())
  await client.connect()
  closers.push(() => client.end())
  const postmaster = await postmasterOf(client)
  const lookUp = await newLookUp(client)
  const benches: Bench[] = []
  for (const size of sizes) {
    const bench = await openBench(size, await postgres.newDatabase(), at)
    benches.push(bench)
    closers.push(...bench.closers.toReversed())
  }

  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[]
  const taken = new Map<string, number[]>()
  const add = (name: string, ms: number) => taken.set(name, [...(taken.get(name) ?? []), ms])
  for (let round = 0; round <= ROUNDS; round++) {
    if (round === 1) taken.clear()
    const before = usedBy(postmaster)
    for (let i = 0; i < LOOK_UPS; i++) await lookUp(i)
    add('look-up', (usedBy(postmaster) - before) / LOOK_UPS)
    for (let turn = 0; turn < benches.length; turn++) {
      const bench = benches[(round + turn) % benches.length]!
      const { name, program } = bench
      const pid = program.process.pid!
      await warmUp(bench)
      for (const kind of kinds) {
        await withClient(bench.url, (own) => forgetSeen(own, bench))
        const written = await writtenBy(client)
        const [database, server] = [usedBy(postmaster), cpuMs(pid)]
        const { times, wire } = await send(kind, bench)
        add(`${kind} ${name} database`, (usedBy(postmaster) - database) / times)
        add(`${kind} ${name} server`, (cpuMs(pid) - server) / times)
        const { bytes, commits } = await writtenBy(client)
        add(`${kind} ${name} bytes`, (bytes - written.bytes) / times)
        add(`${kind} ${name} commits`, (commits - written.commits) / times)
        add(`${kind} ${name} wire`, wire / times)
      }
    }
  }

  const of = (name: string) => median(taken.get(name)!)
  const unit = of('look-up')
  say(`\none prepared look-up by key: ${unit.toFixed(4)} ms of PostgreSQL CPU`)
  const { rows } = await client.query<{ status: string }>(
    `select current_setting('huge_pages_status') as status`,
  )
  say(`huge pages: ${rows[0]!.status}\n`)
  const row = (...cells: string[]) =>
    say(cells.map((cell, i) => (i === 0 ? cell.padEnd(28) : cell.padStart(15))).join(''))
  row(
    '',
    'PostgreSQL ms',
    '÷ look-up',
    '÷ the smallest',
    'server ms',
    'a second, core',
    'bytes of log',
    'commits',
    'bytes, HTTP',
  )
  for (const kind of kinds)
    for (const { name } of benches) {
      const ms = of(`${kind} ${name} database`)
      const least = of(`${kind} ${benches[0]!.name} database`)
      row(
        `${kind}, ${name}`,
        ms.toFixed(3),
        (ms / unit).toFixed(1),
        (ms / least).toFixed(2),
        of(`${kind} ${name} server`).toFixed(2),
        (1000 / ms).toFixed(0),
        of(`${kind} ${name} bytes`).toFixed(0),
        of(`${kind} ${name} commits`).toFixed(2),
        of(`${kind} ${name} wire`).toFixed(0),
      )
    }
}

try {
  const sizes = process.argv.slice(2)
  await main(sizes.length > 0 ? sizes : SIZES)
} finally {
  for (const close of closers.toReversed()) await close()
}
// Explicit, since the PostgreSQL package otherwise ends the process with its own exit code.
process.exit(0)
