/**
 * Measures the statistics of an organisation of five thousand members with up to a million
 * activities. The dashboard, the summary, trends and the list of activity run after 1,000,
 * 10,000, 100,000 and 1,000,000 activities in PostgreSQL: all in one run, alternating, as ratios
 * to the smallest. Every figure is compared with a count of the single activities. It fails on a
 * wrong figure, on a median of the dashboard that grows with the history, and on a plan that
 * reads the whole history.
 *
 *   node bench/organisations.ts
 */
import assert from 'node:assert/strict'
import type { Account } from '../src/api/port.ts'
import { newId } from '../src/crypto/encoding/id.ts'
import { noteActivities } from '../src/service/organisations/activity-subscribers.ts'
import { type History, fillHistory, figuresOf } from '../test/service/organisations/org-history.ts'
import { NOW, type OrgFixture, openOrgFixture } from '../test/service/organisations/org-subject.ts'
import { startPostgres } from '../test/service/postgres.ts'
import { quantile } from './figures.ts'
import { type Query, overheard, planOf, tap } from './plans.ts'
import pg from 'pg'

const SIZES = [1_000, 10_000, 100_000, 1_000_000]
/** Measured rounds, after `WARMING` uncounted ones. */
const ROUNDS = 100
const WARMING = 10
const MEMBERS = 5_000
const GROUPS = 100
/** Members with activities. */
const BUSY = 100
const DAY = 24 * 3_600_000
const TODAY = Math.floor(NOW / DAY)
/** The number of days that the histories cover. */
const BACK = 730
/** A median that is this many times the smallest one has grown; noise stays well below. */
const GROWN = 1.5
/** The number of printed characters of a query. */
const WIDTH = 110

const say = (text: string) => process.stdout.write(`${text}\n`)
const dayText = (day: number) => new Date(day * DAY).toISOString().slice(0, 10)

const closers: (() => unknown)[] = []

interface Bench {
  readonly url: string
  readonly fixture: OrgFixture
  /** The owner's account, called without an HTTP request. */
  readonly account: Account
  readonly history: History
}

const YEAR = { from: dayText(TODAY - 365), to: dayText(TODAY) }
const TEN_YEARS = { from: dayText(TODAY - 3_652), to: dayText(TODAY), bucket: 'week' } as const

const MEASURES: Readonly<Record<string, (bench: Bench) => Promise<unknown>>> = {
  dashboard: ({ account }) => account.orgAnalytics.dashboard({}),
  summary: ({ account }) => account.orgActivity.summary({}),
  'trend, month': ({ account }) => account.orgAnalytics.trends({ metric: 'activity' }),
  'trend, year': ({ account }) => account.orgAnalytics.trends({ metric: 'stamp', ...YEAR }),
  'trend, 10 y': ({ account }) => account.orgAnalytics.trends({ metric: 'stamp', ...TEN_YEARS }),
  list: ({ account }) => account.orgActivity.list({}),
  write: ({ fixture, history: { organisation, actors } }) =>
    fixture.hand.db.transaction().execute((trx) =>
      noteActivities(trx, organisation, [{ event: 'stamp', actor: actors[0]! }], NOW, {
        db: fixture.hand.db,
        background: { run: () => undefined, idle: async () => undefined },
        mail: { isRelayed: false, send: async () => undefined },
        publicUrl: () => '',
      }),
    ),
}

async function openBench(url: string, count: number): Promise<Bench> {
  const fixture = await openOrgFixture({
    newPlace: async () => ({ url, file: '' }),
    replicas: true,
  })
  closers.push(() => fixture.close())
  const owner = await fixture.owner()
  const { organisation } = owner
  const { db } = fixture.hand
  const ids = Array.from({ length: MEMBERS - 1 }, () => newId('acc_', NOW))
  for (let from = 0; from < ids.length; from += 500) {
    const few = ids.slice(from, from + 500)
    await db
      .insertInto('accounts')
      .values(few.map((id) => ({ id, kind: 'person', display_name: 'Bob' })))
      .execute()
    await db
      .insertInto('organisation_members')
      .values(
        few.map((account_id) => ({
          organisation_id: organisation,
          account_id,
          role: 'member' as const,
          state: 'active' as const,
          joined_at: NOW,
          member_id: newId('mem_', NOW),
        })),
      )
      .execute()
  }
  await db
    .insertInto('organisation_groups')
    .values(
      Array.from({ length: GROUPS }, (_, i) => ({
        id: newId('grp_', NOW),
        organisation_id: organisation,
        name: `Group ${i}`,
        description: null,
        created_at: NOW,
      })),
    )
    .execute()
  const actors = ids.slice(0, BUSY)
  const span = { from: (TODAY - BACK) * DAY, to: NOW }
  const history = { organisation, count, ...span, actors }
  const begun = performance.now()
  await fillHistory(db, history)
  say(`${count} activities in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  const account = fixture.subject.service.as({
    account: owner.id,
    device: owner.device,
    session: owner.enrolment.session.session_id,
    token: null,
  })
  return { url, fixture, account, history }
}

/** Compares the answers with counts of the single activities. Throws if they differ. */
async function compare({ account, history }: Bench): Promise<void> {
  const ever = figuresOf(history, () => true).byEvent
  assert.deepEqual(await account.orgAnalytics.dashboard({}), {
    members: { invited: 0, active: MEMBERS, suspended: 0 },
    machines: 0,
    groups: GROUPS,
    connections: ever.get('connection_created'),
    verifications: ever.get('verification'),
    stamps: ever.get('stamp'),
    alerts_fired: ever.get('alert_fired'),
    activities: history.count,
  })
  const [from, to] = [TODAY - 365, TODAY]
  const { byEvent, byActor, byDay } = figuresOf(history, (day) => day >= from && day <= to)
  const summary = await account.orgActivity.summary(YEAR)
  assert.deepEqual(new Map(summary.by_event.map(({ event, count }) => [event, count])), byEvent)
  assert.deepEqual(
    new Map(summary.by_actor.map(({ actor, count }) => [actor!.user_id, count])),
    byActor,
  )
  const { points } = await account.orgAnalytics.trends({ metric: 'stamp', ...YEAR })
  const stamps = points.map((_, i) => byDay.get(from + i)?.get('stamp') ?? 0)
  assert.deepEqual(
    points.map(({ value }) => value),
    stamps,
  )
  const weeks = await account.orgAnalytics.trends({ metric: 'activity', ...TEN_YEARS })
  const sum = weeks.points.reduce((all, { value }) => all + value, 0)
  assert.equal(sum, history.count)
}

/**
 * Measures all sizes in alternation; each round begins with a different one. Returns whether the
 * dashboard has grown.
 */
async function measure(benches: readonly Bench[]): Promise<boolean> {
  const row = (...cells: string[]) => say(cells.map((cell) => cell.padStart(13)).join(''))
  row('', 'activities', 'p50 ms', 'p95 ms', 'p50 ratio')
  let grown = false
  for (const [name, once] of Object.entries(MEASURES)) {
    const taken = benches.map((): number[] => [])
    for (let round = -WARMING; round < ROUNDS; round++)
      for (let turn = 0; turn < benches.length; turn++) {
        const which = (round + WARMING + turn) % benches.length
        const begun = performance.now()
        await once(benches[which]!)
        if (round >= 0) taken[which]!.push(performance.now() - begun)
      }
    const least = quantile(taken[0]!, 0.5)
    for (const [i, { history }] of benches.entries()) {
      const [p50, p95] = [quantile(taken[i]!, 0.5), quantile(taken[i]!, 0.95)]
      const ratio = p50 / least
      row(name, String(history.count), p50.toFixed(2), p95.toFixed(2), ratio.toFixed(2))
      if (name === 'dashboard' && ratio > GROWN) grown = true
    }
  }
  return grown
}

/**
 * Prints the PostgreSQL plans for the queries on the longest history.
 * @returns the queries that read the whole history
 */
async function explain(bench: Bench): Promise<string[]> {
  const client = new pg.Client(bench.url)
  await client.connect()
  const scans: string[] = []
  for (const [name, once] of Object.entries(MEASURES)) {
    say(`\n${name}`)
    const queries: Query[] = await overheard(() => once(bench))
    for (const query of queries) {
      const explained = await planOf(client, query)
      if (explained === null) continue
      say(`  ${explained.text.replaceAll('"', '').slice(0, WIDTH)}\n    ${explained.plan}`)
      const reads = explained.plan.includes('organisation_activities') && !/write|list/.test(name)
      if (reads || explained.scanned.includes('organisation_activities'))
        scans.push(`${name} by ${explained.text}`)
    }
  }
  await client.end()
  return scans
}

/** Returns whether all checks pass. */
async function main(): Promise<boolean> {
  const postgres = await startPostgres()
  closers.push(() => postgres.stop())
  tap()
  const benches: Bench[] = []
  for (const size of SIZES) {
    const bench = await openBench(await postgres.newDatabase(), size)
    benches.push(bench)
    await compare(bench)
    const client = new pg.Client(bench.url)
    await client.connect()
    // Autovacuum does this over time.
    await client.query('vacuum analyze')
    await client.end()
  }
  say(`Every figure is correct; ${ROUNDS} rounds\n`)
  const grown = await measure(benches)
  const scans = await explain(benches.at(-1)!)
  const faults = [
    ...(grown ? [`the median of the dashboard has grown beyond ${GROWN} times`] : []),
    ...scans.map((scan) => `the history is read: ${scan}`),
  ]
  const good = faults.length === 0
  say(
    good
      ? `\nGood: the dashboard does not grow beyond ${GROWN} times, and no figure reads the history.`
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
