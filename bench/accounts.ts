/**
 * Measures a sign-in, a sync and the look-up of a profile with 100, 1,000 and 10,000 accounts.
 * The accounts are in PostgreSQL. All three sizes run in one process, alternating, over real HTTP
 * with the real client, as ratios to the smallest. Then prints the PostgreSQL plans for the
 * queries of the largest. It fails on a median that grows with the accounts, and on a sequential
 * scan of a table that does.
 *
 *   node bench/accounts.ts
 */
import { join } from 'node:path'
import pg from 'pg'
import { openRemote } from '../src/remote/remote.ts'
import { startAccountServer } from '../test/account-server.ts'
import { startDaemon } from '../test/daemon.ts'
import { asOwner } from '../test/handlers/people.ts'
import { codeIn, lettersIn } from '../test/service/letters.ts'
import { enrolmentOf, newMaker } from '../test/service/person.ts'
import { startPostgres } from '../test/service/postgres.ts'
import { type Bench, MEASURES } from './account-measures.ts'
import { type Row, fill, newRow } from './account-rows.ts'
import { quantile } from './figures.ts'
import { type Query, overheard, planOf, tablesOf, tap } from './plans.ts'

const SIZES = [100, 1_000, 10_000]
/** Measured rounds, after one that is not counted. */
const ROUNDS = 20
/** The connections and guest codes of the daemon with the measured sync. */
const CONNECTIONS = 10
const GUESTS = 5
/** A number that no round reaches. */
const UNUSED = 100_000
/** A median that is this many times the smallest one has grown; noise stays well below. */
const GROWN = 1.5
/** The number of printed characters of a query. */
const WIDTH = 110

const say = (text: string) => process.stdout.write(`${text}\n`)

const closers: (() => unknown)[] = []
const t = { after: (fn: unknown) => void closers.push(fn as () => unknown) }

async function openBench(url: string, rows: readonly Row[], at: number): Promise<Bench> {
  const server = await startAccountServer(t, { SVC_DATABASE_URL: url })
  const base = server.address
  await fill(url, rows, at)
  const mailDir = join(server.stateDir, 'mail')
  const remote = openRemote({ base, ca: null, now: Date.now })
  t.after(() => remote.close())
  const door = remote.door()
  const codeFor = async (email: string) => codeIn((await lettersIn(mailDir, email)).at(-1)!)

  const maker = newMaker()
  await door.signIns.create({ body: { email: 'ada@example.org' } })
  const { session } = await door.enrolment.create(
    enrolmentOf(maker, await codeFor('ada@example.org')),
  )
  const account = remote.account({
    key: async () => maker.keys.auth,
    refreshToken: () => session.refresh_token,
  })

  const daemon = await startDaemon({ SVC_BACKEND_URL: base })
  t.after(() => daemon.close())
  const email = 'bob@example.org'
  await asOwner(daemon, 'POST', '/local/v1/sign-in', { email })
  await asOwner(daemon, 'POST', '/local/v1/sign-in/code', { code: await codeFor(email) })
  for (let i = 0; i < CONNECTIONS; i++)
    await asOwner(daemon, 'POST', '/api/v1/connections', { name: `Friend ${i}` })
  for (let i = 0; i < GUESTS; i++)
    await asOwner(daemon, 'POST', '/api/v1/guest-codes', { label: `Guest ${i}` })
  const token = await daemon.token('full')
  return { size: rows.length, url, rows, door, account, daemon, token, mailDir }
}

/**
 * Measures all sizes in alternation; each round begins with a different one.
 * @returns the measures that have grown
 */
async function measure(benches: readonly Bench[]): Promise<string[]> {
  const taken = new Map<string, number[]>()
  const of = (name: string, size: number) => taken.get(`${name} ${size}`) as number[]
  for (const { name } of MEASURES) for (const { size } of benches) taken.set(`${name} ${size}`, [])
  for (let round = 0; round <= ROUNDS; round++)
    for (const { name, times, once } of MEASURES)
      for (let turn = 0; turn < benches.length; turn++) {
        const bench = benches[(round + turn) % benches.length] as Bench
        for (let i = 0; i < times; i++) {
          const ms = await once(bench, round * times + i)
          if (round > 0) of(name, bench.size).push(ms)
        }
      }
  const row = (...cells: string[]) => say(cells.map((cell) => cell.padStart(12)).join(''))
  row('', 'accounts', 'p50 ms', 'p95 ms', 'p50 ratio', 'p95 ratio')
  const grown: string[] = []
  for (const { name } of MEASURES)
    for (const { size } of benches) {
      const [own, least] = [of(name, size), of(name, SIZES[0] as number)]
      const ratios = [0.5, 0.95].map((q) => quantile(own, q) / quantile(least, q))
      row(
        name,
        String(size),
        ...[0.5, 0.95].map((q) => quantile(own, q).toFixed(1)),
        ...ratios.map((ratio) => ratio.toFixed(2)),
      )
      if ((ratios[0] as number) > GROWN) grown.push(`${name} with ${size} accounts`)
    }
  return grown
}

/**
 * Prints the PostgreSQL plans for the queries of each measured operation. `beside` are the
 * queries recorded during the measurement, with those of background work.
 * @returns the sequential scans of tables that grow with the accounts
 */
async function explain(bench: Bench, beside: readonly Query[]): Promise<string[]> {
  const client = new pg.Client(bench.url)
  await client.connect()
  const growing = await tablesOf(client, bench.size)
  say(`\nTables that grow with the accounts: ${growing.join(', ')}`)
  const groups: [name: string, queries: readonly Query[]][] = []
  for (const { name, once } of MEASURES)
    groups.push([name, await overheard(() => once(bench, UNUSED))])
  groups.push(['now and then', beside])
  const scans: string[] = []
  const seen = new Set<string>()
  for (const [name, queries] of groups) {
    say(`\n${name}`)
    for (const query of queries) {
      if (seen.has(query.text)) continue
      seen.add(query.text)
      const explained = await planOf(client, query)
      if (explained === null) continue
      const { text, plan, scanned } = explained
      say(`  ${text.replaceAll('"', '').slice(0, WIDTH)}\n    ${plan}`)
      scans.push(
        ...scanned.filter((table) => growing.includes(table)).map((table) => `${table} by ${text}`),
      )
    }
  }
  await client.end()
  return scans
}

/** Returns whether all checks pass. */
async function main(): Promise<boolean> {
  const at = Date.now()
  const largest = SIZES.at(-1) as number
  say(`Making ${largest} accounts`)
  const rows = Array.from({ length: largest }, () => newRow(at))
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  tap()
  const benches: Bench[] = []
  for (const size of SIZES)
    benches.push(await openBench(await postgres.newDatabase(), rows.slice(0, size), at))
  say(`Filled in ${((Date.now() - at) / 1000).toFixed(0)} s; ${ROUNDS} rounds\n`)
  let grown: string[] = []
  const asked = await overheard(async () => {
    grown = await measure(benches)
  })
  const scans = await explain(benches.at(-1) as Bench, asked)
  const faults = [
    ...grown.map((one) => `the median has grown beyond ${GROWN} times: ${one}`),
    ...scans.map((scan) => `read from end to end: ${scan}`),
  ]
  const good = faults.length === 0
  say(
    good
      ? `\nGood: no median grows beyond ${GROWN} times, and no table that grows is read from end to end.`
      : `\nNot good: ${faults.join('; ')}.`,
  )
  return good
}

let good = false
try {
  good = await main()
} finally {
  for (const close of closers.toReversed()) await close()
}
// Explicit, since the PostgreSQL package otherwise ends the process with its own exit code.
process.exit(good ? 0 : 1)
