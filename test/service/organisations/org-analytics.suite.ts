/**
 * Figures of an organisation: the dashboard and trends. On any engine, over a short history and a
 * long one.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { Engine } from '../engines.ts'
import { newKey } from '../machines-subject.ts'
import { fillHistory, figuresOf, type History } from './org-history.ts'
import { NOW, openOrgFixture, type OrgFixture } from './org-subject.ts'
import type { Person } from '../person.ts'

const DAY = 24 * 3_600_000
const TODAY = Math.floor(NOW / DAY)
/** The length for a test that ends soon; bench/organisations.ts has a million. */
const LONG = 100_000

const timeOf = (day: number) => new Date(day * DAY).toISOString()
const dayText = (day: number) => timeOf(day).slice(0, 10)

export function orgAnalyticsSuite(name: string, engine: Engine): void {
  describe(`figures of organisations: ${name}`, () => {
    let fixture: OrgFixture
    before(async () => {
      fixture = await openOrgFixture(engine)
    })
    after(() => fixture.close())

    /** Stores that many activities, an hour apart, from a time on. */
    async function history(
      organisation: string,
      of: Partial<Omit<History, 'organisation'>> & { count: number },
    ): Promise<History> {
      const from = of.from ?? (TODAY - 9) * DAY
      const made = { organisation, from, to: from + of.count * 3_600_000, actors: [], ...of }
      await fillHistory(fixture.hand.db, made)
      return made
    }
    const trend = ({ account }: Pick<Person, 'account'>, query: object) =>
      account.orgAnalytics.trends(query as { metric: 'activity' })

    describe('the dashboard', () => {
      test('of an organisation without activity', async () => {
        const ada = await fixture.owner()
        assert.deepEqual(await ada.account.orgAnalytics.dashboard({}), {
          members: { invited: 0, active: 1, suspended: 0 },
          machines: 0,
          groups: 0,
          connections: 0,
          verifications: 0,
          stamps: 0,
          alerts_fired: 0,
          activities: 0,
        })
      })

      test('counts members, invited mailboxes, machines, groups and activities', async () => {
        const [ada, eve] = [await fixture.owner(), await fixture.owner('Eve')]
        const { organisation: organisation_id } = ada
        await fixture.member(organisation_id)
        await fixture.member(organisation_id, { state: 'suspended' })
        await fixture.member(organisation_id, { state: 'suspended' })
        await fixture.member(organisation_id, { state: 'invited' })
        await ada.account.machines.create({
          body: { organisation_id, name: 'billing', key: newKey().jwk },
        })
        const made = { created_at: NOW }
        for (const organisation of [ada.organisation, eve.organisation]) {
          await fixture.hand.db
            .insertInto('organisation_invites')
            .values({
              id: newId('mem_', NOW),
              organisation_id: organisation,
              email: 'x@example.org',
              role: 'member',
              state: 'invited',
              ...made,
            })
            .execute()
          for (const group of ['a', 'b', 'c'])
            await fixture.hand.db
              .insertInto('organisation_groups')
              .values({
                id: newId('grp_', NOW),
                organisation_id: organisation,
                name: group,
                description: null,
                ...made,
              })
              .execute()
        }
        // Every event ten times, in another organisation.
        await history(eve.organisation, { count: 220 })
        assert.deepEqual(await ada.account.orgAnalytics.dashboard({}), {
          // The machine account is an active member, too.
          members: { invited: 2, active: 3, suspended: 2 },
          machines: 1,
          groups: 3,
          connections: 0,
          verifications: 0,
          stamps: 0,
          alerts_fired: 0,
          activities: 1,
        })
        assert.deepEqual(await eve.account.orgAnalytics.dashboard({}), {
          members: { invited: 1, active: 1, suspended: 0 },
          machines: 0,
          groups: 3,
          connections: 10,
          verifications: 10,
          stamps: 10,
          alerts_fired: 10,
          activities: 220,
        })
      })
    })

    describe('a trend', () => {
      test('by day: thirty days by default, empty days included', async () => {
        const ada = await fixture.owner()
        await history(ada.organisation, { count: 48, from: (TODAY - 3) * DAY })
        const { points, ...rest } = await trend(ada, { metric: 'activity' })
        assert.deepEqual(rest, { metric: 'activity', bucket: 'day' })
        assert.deepEqual(
          points,
          Array.from({ length: 30 }, (_, i) => ({
            at: timeOf(TODAY - 29 + i),
            value: i === 26 || i === 27 ? 24 : 0,
          })),
        )
      })

      test('without a metric: of all activity', async () => {
        const ada = await fixture.owner()
        await history(ada.organisation, { count: 48, from: (TODAY - 3) * DAY })
        assert.deepEqual(await trend(ada, {}), await trend(ada, { metric: 'activity' }))
      })

      test('of one event alone', async () => {
        const ada = await fixture.owner()
        await history(ada.organisation, { count: 42, from: TODAY * DAY })
        for (const [metric, value] of [
          ['stamp', 1],
          ['activity', 24],
        ] as const) {
          const { points } = await trend(ada, {
            metric,
            from: dayText(TODAY),
            to: dayText(TODAY + 1),
          })
          assert.deepEqual(
            points.map((point) => point.value),
            [value, (metric === 'activity' ? 42 : 2) - value],
          )
        }
      })

      // 2026-06-15 is a Monday.
      const MONDAY = Date.UTC(2026, 5, 15) / DAY
      for (const [what, from, to, expected] of [
        [
          'whole weeks',
          MONDAY - 7,
          MONDAY + 6,
          [
            [MONDAY - 7, 7],
            [MONDAY, 7],
          ],
        ],
        ['a Monday', MONDAY, MONDAY, [[MONDAY, 1]]],
        ['a Sunday', MONDAY - 1, MONDAY - 1, [[MONDAY - 7, 1]]],
        [
          'Sunday and Monday',
          MONDAY - 1,
          MONDAY,
          [
            [MONDAY - 7, 1],
            [MONDAY, 1],
          ],
        ],
        [
          'parts of the first and the last week',
          MONDAY - 9,
          MONDAY + 2,
          [
            [MONDAY - 14, 2],
            [MONDAY - 7, 7],
            [MONDAY, 3],
          ],
        ],
      ] as const)
        test(`by week: ${what}, counting only the requested days of the first and last week`, async () => {
          const ada = await fixture.owner()
          // One activity on each day.
          await history(ada.organisation, {
            count: 60,
            from: (MONDAY - 30) * DAY,
            to: (MONDAY + 30) * DAY,
          })
          const query = { from: dayText(from), to: dayText(to), bucket: 'week' }
          const { points } = await trend(ada, { metric: 'activity', ...query })
          assert.deepEqual(
            points.map(({ at, value }) => [at, value]),
            expected.map(([day, value]) => [timeOf(day), value]),
          )
        })

      test('by week over the turn of a year, and from the first possible day', async () => {
        const ada = await fixture.owner()
        const at = async (from: string, to: string) => {
          const query = { metric: 'stamp', bucket: 'week', from, to }
          return (await trend(ada, query)).points.map((point) => point.at.slice(0, 10))
        }
        assert.deepEqual(await at('2025-12-31', '2026-01-05'), ['2025-12-29', '2026-01-05'])
        assert.deepEqual(await at('1970-01-01', '1970-01-05'), ['1969-12-29', '1970-01-05'])
      })

      for (const [what, query, buckets] of [
        ['a leap year by day', { from: '2024-01-01', to: '2024-12-31' }, 366],
        ['ten years by week', { from: '2016-06-18', to: '2026-06-17', bucket: 'week' }, 523],
        ['530 weeks', { from: '2016-04-25', to: '2026-06-21', bucket: 'week' }, 530],
      ] as const)
        test(`${what}: ${buckets} points`, async () => {
          const ada = await fixture.owner()
          const { points } = await trend(ada, { metric: 'activity', ...query })
          assert.equal(points.length, buckets)
        })

      for (const [what, query, path, message] of [
        ['ten years by day', { from: '2016-06-18' }, 'from', /bucket=week/],
        ['367 days', { from: '2024-01-01', to: '2025-01-01' }, 'from', /366 days/],
        [
          '531 weeks',
          { from: '2016-04-24', to: '2026-06-21', bucket: 'week' },
          'from',
          /530 weeks/,
        ],
        ['all time', { from: '1970-01-01', to: '9999-12-31', bucket: 'week' }, 'from', /530/],
        ['backwards', { from: '2026-01-02', to: '2026-01-01' }, 'from', /not be after/],
        ['tomorrow', { from: '2026-06-18' }, 'from', /not be in the future/],
        ['an unknown metric', { metric: 'happiness' }, 'metric', /./],
        ['SQL as a metric', { metric: "stamp' or '1'='1" }, 'metric', /./],
        ['an empty metric', { metric: '' }, 'metric', /./],
        ['an unknown bucket', { bucket: 'hour' }, 'bucket', /./],
        ['an invalid day', { from: '2026-02-30' }, 'from', /exist/],
      ] as const)
        test(`rejects ${what}`, async () => {
          const ada = await fixture.owner()
          await assert.rejects(trend(ada, { metric: 'activity', ...query }), (error: Error) => {
            const { code, details } = error as Error & {
              code: string
              details: { issues: { path: string; message: string }[] }
            }
            assert.equal(code, 'validation_failed')
            assert.equal(details.issues[0]?.path, path)
            assert.match(details.issues[0].message, message)
            return true
          })
        })
    })

    test('no figure is read from the history: deleting it changes nothing', async () => {
      const ada = await fixture.owner()
      await history(ada.organisation, { count: 500, actors: [ada.id] })
      const all = () =>
        Promise.all([
          ada.account.orgAnalytics.dashboard({}),
          ada.account.orgActivity.summary({}),
          trend(ada, { metric: 'activity' }),
          trend(ada, { metric: 'stamp', bucket: 'week' }),
        ])
      const before = await all()
      assert.equal(before[0].activities, 500)
      await fixture.hand.db
        .deleteFrom('organisation_activities')
        .where('organisation_id', '=', ada.organisation)
        .execute()
      assert.deepEqual(await all(), before)
    })

    test(`${LONG} activities over two years: every figure is the same as counting one by one`, async () => {
      const ada = await fixture.owner()
      const bob = await fixture.member(ada.organisation)
      const long = await history(ada.organisation, {
        count: LONG,
        from: (TODAY - 730) * DAY,
        to: (TODAY + 1) * DAY,
        actors: [ada.id, bob.id],
      })
      // Beside another organisation that must not be counted.
      const eve = await fixture.owner('Eve')
      await history(eve.organisation, { count: 1000 })

      const ever = figuresOf(long, () => true)
      const dashboard = await ada.account.orgAnalytics.dashboard({})
      assert.equal(dashboard.activities, LONG)
      assert.equal(dashboard.stamps, ever.byEvent.get('stamp'))
      assert.equal(dashboard.verifications, ever.byEvent.get('verification'))
      assert.equal(dashboard.connections, ever.byEvent.get('connection_created'))
      assert.equal(dashboard.alerts_fired, ever.byEvent.get('alert_fired'))

      const [from, to] = [TODAY - 400, TODAY - 100]
      const days = { from: dayText(from), to: dayText(to) }
      const inRange = figuresOf(long, (day) => day >= from && day <= to)
      const summary = await ada.account.orgActivity.summary(days)
      assert.deepEqual(
        new Map(summary.by_event.map(({ event, count }) => [event, count])),
        inRange.byEvent,
      )
      assert.deepEqual(
        new Map(summary.by_actor.map(({ actor, count }) => [actor!.user_id, count])),
        inRange.byActor,
      )
      for (const all of [summary.by_event, summary.by_actor]) {
        const counts = all.map(({ count }) => count)
        assert.deepEqual(
          counts,
          counts.toSorted((a, b) => b - a),
        )
      }

      for (const metric of ['activity', 'verification_failed'] as const) {
        const on = (day: number) => {
          const events = inRange.byDay.get(day) ?? new Map<string, number>()
          if (metric !== 'activity') return events.get(metric) ?? 0
          return [...events.values()].reduce((sum, count) => sum + count, 0)
        }
        const daily = await trend(ada, { metric, ...days })
        assert.deepEqual(
          daily.points.map(({ value }) => value),
          Array.from({ length: to - from + 1 }, (_, i) => on(from + i)),
        )
        const weekly = await trend(ada, { metric, ...days, bucket: 'week' })
        for (const { at, value } of weekly.points) {
          const monday = Date.parse(at) / DAY
          assert.equal(new Date(at).getUTCDay(), 1)
          const expected = [0, 1, 2, 3, 4, 5, 6].reduce((sum, i) => sum + on(monday + i), 0)
          assert.equal(value, expected, at)
        }
      }
      const { items } = await ada.account.orgActivity.list({ limit: 200 })
      assert.equal(items.length, 200)
    })
  })
}
