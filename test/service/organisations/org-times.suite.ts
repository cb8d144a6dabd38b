/**
 * The times of activities, for every engine. Counts and alerts use the moment and the
 * organisation of an activity, at any delay before the server receives it.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { SelectQueryNode, type Transaction, sql } from 'kysely'
import { AlertEvent } from '../../../src/api/rest/org.ts'
import type { VerificationEntry } from '../../../src/api/rest/verify.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { newBackground } from '../../../src/service/db/background.ts'
import { noteActivities } from '../../../src/service/organisations/activity-subscribers.ts'
import type { Activity } from '../../../src/service/organisations/activity-rows.ts'
import type { Schema } from '../../../src/service/db/schema.ts'
import { transactionWithMarks } from '../../../src/service/db/sync-marks.ts'
import type { Engine } from '../engines.ts'
import { newKey } from '../machines-subject.ts'
import { activityAt, fillHistory } from './org-history.ts'
import { NOW, type OrgFixture, openOrgFixture } from './org-subject.ts'
import type { Person } from '../person.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Owner = Awaited<ReturnType<OrgFixture['owner']>>

const textOf = (at: number) => new Date(at).toISOString()
const dayText = (at: number) => textOf(at).slice(0, 10)

const entryAt = (
  at: number,
  outcome: VerificationEntry['outcome'] = 'not_verified',
): VerificationEntry => ({
  id: newId('ver_', at),
  at: textOf(at),
  method: 'local',
  outcome,
  matches: [],
  caller: null,
})

export function orgTimesSuite(name: string, engine: Engine): void {
  let fixture: OrgFixture
  const clock = { ms: NOW }

  describe(`times of activities: ${name}`, () => {
    before(async () => {
      fixture = await openOrgFixture(engine, clock)
    })
    beforeEach(() => {
      clock.ms = NOW
    })
    after(() => fixture.close())

    const push = ({ account }: Pick<Person, 'account'>, items: VerificationEntry[]) =>
      account.verifications.push({ body: { items } })
    const use = ({ account }: Pick<Person, 'account'>, organisation_id: string | null) =>
      account.context.activeOrg({ body: { organisation_id } })
    const listed = async ({ account }: Pick<Person, 'account'>) =>
      (await account.orgActivity.list({ limit: 200 })).items
    const timesOf = async (owner: Owner, event: string) =>
      (await listed(owner)).filter((one) => one.event === event).map(({ at }) => Date.parse(at))
    const fired = (owner: Owner) => timesOf(owner, 'alert_fired')

    const background = newBackground((_, message) => assert.fail(message))
    const post = () => ({
      db: fixture.hand.db,
      background,
      mail: { isRelayed: false, send: async () => undefined },
      publicUrl: () => 'https://countersign.test',
    })
    const note = (organisation: string, activities: readonly Activity[], at: number) =>
      transactionWithMarks(fixture.hand.db, (trx) =>
        noteActivities(trx, organisation, activities, at, post()),
      )
    const stamps = (count: number): Activity[] =>
      Array.from({ length: count }, () => ({ event: 'stamp', actor: null }))
    const alertOf = ({ account }: Owner, rule: object = {}) =>
      account.orgAlerts.create({
        body: { name: 'x', event: 'stamp', threshold: 2, window_minutes: 10, ...rule },
      })

    /** Enrols an owner who has acted in an organisation for 200 days. */
    async function settled(): Promise<Owner> {
      const owner = await fixture.owner()
      await fixture.hand.db
        .updateTable('sessions')
        .set({ active_since: NOW - 200 * DAY })
        .where('account_id', '=', owner.id)
        .execute()
      return owner
    }

    describe('verifications', () => {
      test('have the time of the check, in the order in which they arrived', async () => {
        const ada = await settled()
        const times = [NOW - 3 * DAY, NOW - 1, NOW - 40 * DAY, NOW - 3 * DAY - HOUR]
        await push(
          ada,
          times.map((at) => entryAt(at)),
        )
        assert.deepEqual(await timesOf(ada, 'verification_failed'), times.toReversed())
        assert.deepEqual((await listed(ada))[0]?.data, { method: 'local' })
        const { points } = await ada.account.orgAnalytics.trends({
          metric: 'verification_failed',
          from: dayText(NOW - 40 * DAY),
        })
        const days = points.filter(({ value }) => value > 0)
        assert.deepEqual(
          days.map(({ at, value }) => [at.slice(0, 10), value]),
          [
            [dayText(NOW - 40 * DAY), 1],
            [dayText(NOW - 3 * DAY), 2],
            [dayText(NOW), 1],
          ],
        )
        const on = dayText(NOW - 3 * DAY)
        const { by_event, by_actor } = await ada.account.orgActivity.summary({ from: on, to: on })
        assert.deepEqual(by_event, [{ event: 'verification_failed', count: 2 }])
        assert.deepEqual(
          by_actor.map(({ actor, count }) => [actor?.user_id, count]),
          [[ada.id, 2]],
        )
        assert.equal((await ada.account.orgAnalytics.dashboard({})).activities, 4)
      })

      test('from a clock that is ahead get the time of arrival', async () => {
        const ada = await settled()
        await push(ada, [entryAt(NOW + DAY)])
        assert.deepEqual(await timesOf(ada, 'verification_failed'), [NOW])
      })

      test('with a time before 1970 are stored, and not recorded for the organisation', async () => {
        const ada = await settled()
        const items = [{ ...entryAt(NOW), at: '1969-12-31T23:59:59.999Z' }]
        assert.equal((await push(ada, items)).accepted, 1)
        assert.deepEqual(await listed(ada), [])
      })

      test('from before the organisation was active are not recorded for it', async () => {
        const ada = await fixture.owner()
        await push(ada, [entryAt(NOW - 1), entryAt(NOW), entryAt(NOW - DAY)])
        assert.deepEqual(await timesOf(ada, 'verification_failed'), [NOW])
        const { items } = await ada.account.verificationLog.list({})
        assert.equal(items.length, 3)

        clock.ms = NOW + 20 * MINUTE
        await use(ada, ada.organisation)
        await push(ada, [entryAt(NOW + MINUTE)])
        assert.equal((await listed(ada)).length, 2, 'chosen once more, it was active all the time')

        await use(ada, null)
        clock.ms = NOW + 40 * MINUTE
        await use(ada, ada.organisation)
        await push(ada, [entryAt(NOW + 30 * MINUTE)])
        assert.equal((await listed(ada)).length, 2)
      })

      test('made in another organisation are not recorded for this one', async () => {
        const ada = await fixture.owner()
        const { id: other } = await ada.account.organisations.create({ body: { name: 'Other' } })
        clock.ms = NOW + 20 * MINUTE
        await use(ada, other)
        await push(ada, [entryAt(NOW + MINUTE), entryAt(clock.ms)])
        assert.deepEqual(await timesOf(ada, 'verification_failed'), [clock.ms])
        await use(ada, ada.organisation)
        assert.deepEqual(await listed(ada), [])
      })

      test('of a machine account are all recorded for its organisation', async () => {
        const ada = await fixture.owner()
        const { machine_id: account } = await ada.account.machines.create({
          body: { organisation_id: ada.organisation, name: 'billing', key: newKey().jwk },
        })
        const who = {
          account,
          device: newId('dev_', NOW),
          session: newId('ses_', NOW),
          token: null,
        }
        await push({ account: fixture.subject.service.as(who) }, [entryAt(NOW - DAY)])
        assert.deepEqual(await timesOf(ada, 'verification_failed'), [NOW - DAY])
      })
    })

    describe('alerts evaluate the time of each activity', () => {
      const failures = { event: 'verification_failed', notify: [] as string[] }
      const ago = (...minutes: number[]) => minutes.map((one) => NOW - one * MINUTE)
      const cases: [what: string, rule: object, times: number[], at: number | null][] = [
        [
          'one failure a day for fifty days, in a window of ten minutes',
          { threshold: 50 },
          Array.from({ length: 50 }, (_, i) => NOW - i * DAY),
          null,
        ],
        [
          'two failures 62 seconds apart, in a window of one minute',
          { window_minutes: 1 },
          [NOW - 74_000, NOW - 12_000],
          null,
        ],
        [
          'two failures 59 seconds apart, in a window of one minute',
          { window_minutes: 1 },
          [NOW - 71_000, NOW - 12_000],
          NOW - 12_000,
        ],
        [
          'enough failures a week ago',
          { threshold: 3 },
          ago(10_080, 10_079, 10_078),
          NOW - 10_078 * MINUTE,
        ],
        [
          'several sufficient groups: at the first',
          {},
          ago(600, 595, 300, 295, 0),
          NOW - 595 * MINUTE,
        ],
        [
          'several sufficient groups in any order: at the first',
          {},
          ago(0, 295, 595, 600, 300),
          NOW - 595 * MINUTE,
        ],
        ['two failures as far apart as the window', {}, ago(610, 600), null],
        [
          'two failures a millisecond less apart',
          {},
          [NOW - 610 * MINUTE + 1, NOW - HOUR * 10],
          NOW - HOUR * 10,
        ],
        [
          'failures a month and a day ago, too old for an alert',
          {},
          ago(31 * 1440, 31 * 1440),
          null,
        ],
        [
          'failures a minute younger than that',
          {},
          ago(31 * 1440 - 1, 31 * 1440 - 1),
          NOW - 31 * DAY + MINUTE,
        ],
        [
          'the longest window, long ago',
          { window_minutes: 43_200 },
          [NOW - 60 * DAY + 1, NOW - 30 * DAY],
          NOW - 30 * DAY,
        ],
        [
          'one millisecond beyond the longest window',
          { window_minutes: 43_200 },
          [NOW - 60 * DAY, NOW - 30 * DAY],
          null,
        ],
      ]
      for (const [what, rule, times, at] of cases)
        test(`${what}: ${at === null ? 'does not fire' : 'fires'}`, async () => {
          const ada = await settled()
          const { id } = await alertOf(ada, { ...failures, notify: [ada.id], ...rule })
          await push(
            ada,
            times.map((one) => entryAt(one)),
          )
          assert.deepEqual(await fired(ada), at === null ? [] : [at])
          const { items } = await ada.account.orgAlerts.list({})
          assert.equal(items[0]?.last_fired_at, at === null ? null : textOf(at))
          const notes = (await ada.account.notifications.list({})).items
          const own = notes.filter(({ data }) => data['alert_id'] === id)
          assert.deepEqual(
            own.map(({ created_at }) => created_at),
            at === null ? [] : [textOf(NOW)],
          )
        })

      test('several batches count together, and the pause lasts for the window', async () => {
        const ada = await settled()
        await alertOf(ada, { ...failures, threshold: 3 })
        await push(ada, [entryAt(NOW - 2 * HOUR), entryAt(NOW - 2 * HOUR + MINUTE)])
        assert.deepEqual(await fired(ada), [])
        await push(ada, [entryAt(NOW - 2 * HOUR + 2 * MINUTE)])
        assert.deepEqual(await fired(ada), [NOW - 2 * HOUR + 2 * MINUTE])
        await push(ada, [entryAt(NOW - 2 * HOUR + 3 * MINUTE)])
        assert.equal((await fired(ada)).length, 1)
      })

      test('any backlog: the same as counting one by one', async () => {
        // Pseudo-random numbers, the same in each run.
        let state = 11
        const any = (most: number) => {
          state = (state * 48_271) % 2_147_483_647
          return state % most
        }
        const outcomes = new Set<boolean>()
        for (let round = 0; round < 12; round++) {
          const ada = await settled()
          const window_minutes = [1, 30, 720, 1440, 2000, 4321][any(6)]!
          const threshold = 2 + any(4)
          await alertOf(ada, { ...failures, threshold, window_minutes })
          const span = window_minutes * MINUTE * 3
          const times = Array.from({ length: 3 + any(9) }, () => NOW - 1 - any(span))
          // Whole minutes, so that the alert is evaluated at each of them.
          const sorted = times.map((at) => at - (at % MINUTE)).toSorted((a, b) => a - b)
          await push(
            ada,
            sorted.map((at) => entryAt(at)),
          )
          const within = (at: number) =>
            sorted.filter((one) => one > at - window_minutes * MINUTE && one <= at).length
          const first = sorted.find((at) => within(at) >= threshold)
          outcomes.add(first !== undefined)
          const of = JSON.stringify({ window_minutes, threshold, sorted })
          assert.deepEqual(await fired(ada), first === undefined ? [] : [first], of)
        }
        assert.equal(outcomes.size, 2)
      })
    })

    describe('midnight', () => {
      const MIDNIGHT = Math.floor(NOW / DAY) * DAY

      test('separates two days in UTC', async () => {
        const ada = await settled()
        const bob = await fixture.member(ada.organisation)
        const times: [at: number, actor: string][] = [
          [MIDNIGHT - 1, ada.id],
          [MIDNIGHT, bob.id],
          [MIDNIGHT, ada.id],
          [MIDNIGHT + DAY - 1, bob.id],
        ]
        for (const [at, actor] of times)
          await note(ada.organisation, [{ event: 'stamp', actor }], at)
        const days = await fixture.hand.db
          .selectFrom('organisation_event_days')
          .select(['day', 'count'])
          .where('organisation_id', '=', ada.organisation)
          .orderBy('day')
          .execute()
        assert.deepEqual(
          days.map(({ day, count }) => [day * DAY, Number(count)]),
          [
            [MIDNIGHT - DAY, 1],
            [MIDNIGHT, 3],
          ],
        )
        const [from, to] = [dayText(MIDNIGHT - DAY), dayText(MIDNIGHT)]
        const { points } = await ada.account.orgAnalytics.trends({ metric: 'stamp', from, to })
        assert.deepEqual(
          points.map(({ value }) => value),
          [1, 3],
        )
        for (const [day, count, actors] of [
          [from, 1, [[ada.id, 1]]],
          [
            to,
            3,
            [
              [bob.id, 2],
              [ada.id, 1],
            ],
          ],
        ] as const) {
          const answer = await ada.account.orgActivity.summary({ from: day, to: day })
          assert.deepEqual(answer.by_event, [{ event: 'stamp', count }])
          assert.deepEqual(
            answer.by_actor.map((one) => [one.actor?.user_id, one.count]),
            actors,
          )
        }
      })

      for (const offset of [-1, 0, 1])
        for (const window_minutes of [10, 1440, 2880])
          test(`a window of ${window_minutes} minutes that begins ${offset} ms after midnight`, async () => {
            const now = MIDNIGHT + offset + window_minutes * MINUTE
            for (const [begin, fires] of [
              [MIDNIGHT + offset, false],
              [MIDNIGHT + offset + 1, true],
            ] as const) {
              const ada = await settled()
              await alertOf(ada, { window_minutes, threshold: 3 })
              await note(ada.organisation, stamps(2), begin)
              await note(ada.organisation, stamps(1), now)
              assert.deepEqual(await fired(ada), fires ? [now] : [], textOf(begin))
            }
          })
    })

    describe('after a clock was ahead', () => {
      test('alerts fire again once the clock is right', async () => {
        const ada = await settled()
        await alertOf(ada, { threshold: 1 })
        await note(ada.organisation, stamps(1), NOW + 365 * DAY)
        for (const at of [NOW, NOW + MINUTE, NOW + 10 * MINUTE])
          await note(ada.organisation, stamps(1), at)
        assert.deepEqual((await fired(ada)).toReversed(), [NOW + 365 * DAY, NOW, NOW + 10 * MINUTE])
      })

      test('activities dated tomorrow do not count', async () => {
        const ada = await settled()
        await note(ada.organisation, stamps(100), NOW + DAY)
        await alertOf(ada, { threshold: 100 })
        await note(ada.organisation, stamps(1), NOW)
        assert.deepEqual(await fired(ada), [])
        await note(ada.organisation, stamps(99), NOW + 1)
        assert.deepEqual(await fired(ada), [NOW + 1])
      })
    })

    test('an alert changed to another event fires with the next such activity', async () => {
      const ada = await settled()
      const { id } = await alertOf(ada, { threshold: 1, window_minutes: 43_200 })
      await note(ada.organisation, stamps(1), NOW)
      await ada.account.orgAlerts.update({ id, body: { event: 'verification_failed' } })
      await note(ada.organisation, [{ event: 'verification_failed', actor: null }], NOW + 1)
      assert.deepEqual((await fired(ada)).toReversed(), [NOW, NOW + 1])
    })

    async function alertsFired(organisation: string): Promise<number> {
      const rows = await fixture.hand.db
        .selectFrom('organisation_alerts')
        .select('id')
        .where('organisation_id', '=', organisation)
        .where('last_fired_at', 'is not', null)
        .execute()
      return rows.length
    }

    /**
     * Returns the tables that an activity causes searches in; for activities, the time spans
     * searched.
     */
    async function searchesOf(organisation: string, at: number) {
      const tables: string[] = []
      const spans: [since: number, until: number][] = []
      await fixture.hand.db.transaction().execute(async (trx) => {
        const watched = trx.withPlugin({
          transformQuery: ({ node, queryId }) => {
            if (!SelectQueryNode.is(node)) return node
            const { sql: text, parameters } = trx.getExecutor().compileQuery(node, queryId)
            const [, table = ''] = /from "(\w+)"/.exec(text) ?? []
            tables.push(table)
            const times = parameters.filter((one) => typeof one === 'number' && one > NOW / 2)
            if (table === 'organisation_activities') spans.push(times as [number, number])
            return node
          },
          transformResult: async ({ result }) => result,
        }) as Transaction<Schema>
        await noteActivities(watched, organisation, stamps(1), at, post())
      })
      return { tables, spans }
    }

    /**
     * Inserts that many stamps, one every half second. The counts of the days are so much higher
     * that they decide nothing.
     */
    async function fill(organisation: string, count: number, from: number): Promise<void> {
      const { db } = fixture.hand
      const cells = sql`'act_' || i, cast(${organisation} as text), ${sql.lit(from)} + 500 * i, 'stamp', '{}'`
      await sql`insert into organisation_activities (id, organisation_id, at, event, data)
        with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(count)})
        select ${cells} from n`.execute(db)
      const own = sql`from organisation_activities where organisation_id = ${organisation}`
      await sql`insert into organisation_event_days (organisation_id, day, event, count)
        select organisation_id, cast(at / ${sql.lit(DAY)} as integer), event, 4 * count(*) ${own}
        group by 1, 2, 3`.execute(db)
      await sql`insert into organisation_event_minutes (organisation_id, event, minute, count)
        select organisation_id, event, cast(at / ${sql.lit(MINUTE)} as integer), count(*) ${own}
        group by 1, 2, 3`.execute(db)
    }

    test('a hundred quiet alerts read no more than a minute of the history', async () => {
      const ada = await settled()
      const { organisation } = ada
      const since = NOW - DAY
      const COUNT = 100_000
      await fill(organisation, COUNT, since + MINUTE)
      const THRESHOLD = 400_000
      const { db } = fixture.hand
      const rows = Array.from({ length: 100 }, (_, i) => ({
        id: newId('alr_', NOW + i),
        organisation_id: organisation,
        name: 'quiet',
        event: 'stamp',
        threshold: THRESHOLD,
        window_minutes: 1440,
        enabled: 1 as const,
        created_at: NOW,
      }))
      await db.insertInto('organisation_alerts').values(rows).execute()
      const { tables, spans } = await searchesOf(organisation, NOW)
      assert.deepEqual(tables, [
        'organisation_alerts',
        'organisation_event_days',
        'organisation_event_minutes',
        'organisation_event_minutes',
      ])
      assert.deepEqual(spans, [])

      // With the activities before and after, three of the four in the first minute count; two of
      // them are in the window.
      await note(organisation, stamps(1), since)
      await note(organisation, stamps(1), since - 1)
      await note(organisation, stamps(2), since + 1)
      const threshold = COUNT + 2 + 3
      await db
        .updateTable('organisation_alerts')
        .set({ threshold })
        .where('organisation_id', '=', organisation)
        .where('id', '!=', rows[0]!.id)
        .execute()
      const edge = await searchesOf(organisation, NOW)
      assert.deepEqual(
        new Set(edge.spans.map(String)),
        new Set([`${since},${since - (since % MINUTE) + MINUTE}`]),
      )
      assert.equal(await alertsFired(organisation), 0)
      await note(organisation, stamps(1), NOW)
      assert.equal(await alertsFired(organisation), 99)
    })

    test('an alert fires at the last of thousands of activities in its window, not before', async () => {
      const ada = await settled()
      const { organisation } = ada
      // Three or four in a minute, also in the one in which the window begins.
      const history = {
        organisation,
        count: 20_000,
        from: NOW - 4 * DAY,
        to: NOW,
        actors: [ada.id],
      }
      await fillHistory(fixture.hand.db, history)
      const window = (3 * DAY) / MINUTE
      const inWindow = new Map<string, number>()
      for (let i = 0; i < history.count; i++) {
        const { at, event } = activityAt(history, i)
        if (at > NOW - window * MINUTE) inWindow.set(event, (inWindow.get(event) ?? 0) + 1)
      }
      const alert = (event: AlertEvent, threshold: number) => ({
        id: newId('alr_', NOW),
        organisation_id: organisation,
        name: event,
        event,
        threshold,
        window_minutes: window,
        enabled: 1 as const,
        created_at: NOW,
      })
      // One more activity is not enough; the one after it is.
      const rows = AlertEvent.options.map((event) => alert(event, inWindow.get(event)! + 2))
      await fixture.hand.db.insertInto('organisation_alerts').values(rows).execute()
      const all = AlertEvent.options.map((event): Activity => ({ event, actor: ada.id }))
      await note(organisation, all, NOW)
      assert.equal(await alertsFired(organisation), 0)
      await note(organisation, all, NOW)
      assert.equal(await alertsFired(organisation), AlertEvent.options.length)
    })
  })
}
