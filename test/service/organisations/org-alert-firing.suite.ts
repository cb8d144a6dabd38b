/** Alerts that fire, and those that do not, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { CompiledQuery, type Transaction, SelectQueryNode, createQueryId, sql } from 'kysely'
import type { Account } from '../../../src/api/port.ts'
import type { OrgEvent } from '../../../src/api/rest/org.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { type Background, newBackground } from '../../../src/service/db/background.ts'
import type { OutgoingLetter } from '../../../src/service/mail/mailer.ts'
import { noteActivities } from '../../../src/service/organisations/activity-subscribers.ts'
import type { Schema } from '../../../src/service/db/schema.ts'
import { transactionWithMarks } from '../../../src/service/db/sync-marks.ts'
import type { Engine } from '../engines.ts'
import { type OrgFixture, NOW, openOrgFixture } from './org-subject.ts'
import { type Person, arrived, enrolByMail, newAddress } from '../person.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

type Owner = Awaited<ReturnType<OrgFixture['owner']>>
type Rule = Parameters<Account['orgAlerts']['create']>[0]['body']

export function orgAlertFiringSuite(engineName: string, engine: Engine): void {
  let fixture: OrgFixture
  let owner: Owner
  let sent: OutgoingLetter[]
  let background: Background

  describe(`alerts that fire: ${engineName}`, () => {
    before(async () => {
      fixture = await openOrgFixture(engine, { ms: NOW })
      owner = await fixture.owner()
    })
    after(() => fixture.close())

    /** Creates a new organisation of the owner’s, with an alert. */
    async function newAlert(of: Partial<Rule> = {}) {
      const { account } = owner
      const { id: organisation } = await account.organisations.create({ body: { name: 'Acme' } })
      await account.context.activeOrg({ body: { organisation_id: organisation } })
      sent = []
      background = newBackground((_, message, more) =>
        assert.fail(`${message} ${JSON.stringify(more)}`),
      )
      const body = { name: 'Failures', event: 'stamp', threshold: 2, window_minutes: 10, ...of }
      const { id: alert } = await account.orgAlerts.create({ body: body as Rule })
      return { organisation, alert }
    }

    const post = () => ({
      db: fixture.hand.db,
      background,
      mail: { isRelayed: true, send: async (message: OutgoingLetter) => void sent.push(message) },
      publicUrl: () => 'https://countersign.test',
    })
    const activities = (event: OrgEvent, count: number) =>
      Array.from({ length: count }, () => ({ event, actor: null }))
    const within = <T>(work: (trx: Transaction<Schema>) => Promise<T>) =>
      transactionWithMarks(fixture.hand.db, work)

    /** Records that many activities and sends the alerts that they fire. */
    async function happen(organisation: string, at: number, count = 1, event: OrgEvent = 'stamp') {
      await within((trx) => noteActivities(trx, organisation, activities(event, count), at, post()))
      await background.idle()
    }
    /** Inserts activities without evaluating alerts. */
    async function happened(organisation_id: string, times: readonly number[], event = 'stamp') {
      if (times.length === 0) return
      const { db } = fixture.hand
      const rows = times.map((at) => ({ id: newId('act_', at), organisation_id, at, event }))
      await db
        .insertInto('organisation_activities')
        .values(rows.map((row) => ({ ...row, data: '{}' })))
        .execute()
      const days = [...Map.groupBy(times, (at) => Math.floor(at / DAY))]
      await db
        .insertInto('organisation_event_days')
        .values(days.map(([day, of]) => ({ organisation_id, day, event, count: of.length })))
        .execute()
      const minutes = [...Map.groupBy(times, (at) => Math.floor(at / MINUTE))]
      await db
        .insertInto('organisation_event_minutes')
        .values(
          minutes.map(([minute, of]) => ({ organisation_id, minute, event, count: of.length })),
        )
        .execute()
    }

    const firedOf = async (organisation: string) =>
      fixture.hand.db
        .selectFrom('organisation_activities')
        .select(['at', 'target', 'actor_id', 'data'])
        .where('organisation_id', '=', organisation)
        .where('event', '=', 'alert_fired')
        .orderBy('id')
        .execute()
    const timesFired = async (organisation: string) =>
      (await firedOf(organisation)).map(({ at }) => at)
    const alertsOf = async ({ account }: Pick<Person, 'account'>, alert: string) =>
      (await account.notifications.list({ limit: 200 })).items.filter(
        ({ data }) => data['alert_id'] === alert,
      )

    const cases: [what: string, rule: Partial<Rule>, before: readonly number[], fires: boolean][] =
      [
        ['the first, of one', { threshold: 1 }, [], true],
        ['the first, of two', {}, [], false],
        ['the second, of two', {}, [5 * MINUTE], true],
        ['both at once', {}, [0], true],
        ['more than the threshold', {}, [1, 2, 3, 4], true],
        ['one exactly as old as the window', {}, [10 * MINUTE], false],
        ['one a millisecond younger', {}, [10 * MINUTE - 1], true],
        ['many that are older', {}, [11 * MINUTE, 12 * MINUTE, DAY, 9 * DAY], false],
        ['the longest window', { window_minutes: 43_200, threshold: 3 }, [DAY, 30 * DAY - 1], true],
        [
          'at the edge of the longest window',
          { window_minutes: 43_200, threshold: 3 },
          [DAY, 30 * DAY],
          false,
        ],
        ['midnight inside', { window_minutes: 1440 }, [13 * 60 * MINUTE], true],
        ['switched off', { enabled: false, threshold: 1 }, [1, 2, 3], false],
      ]
    for (const [what, rule, before, fires] of cases)
      test(`${what}: ${fires ? 'fires' : 'does not fire'}`, async () => {
        const { organisation, alert } = await newAlert(rule)
        await happened(
          organisation,
          before.map((age) => NOW - age),
        )
        await happen(organisation, NOW)
        assert.deepEqual(await timesFired(organisation), fires ? [NOW] : [])
        const { items } = await owner.account.orgAlerts.list({})
        const last_fired_at = fires ? new Date(NOW).toISOString() : null
        assert.deepEqual(
          items.map((one) => [one.id, one.last_fired_at]),
          [[alert, last_fired_at]],
        )
      })

    test('any history, window and threshold: the same as counting one by one', async () => {
      // Pseudo-random numbers, the same in each run.
      let state = 7
      const any = (most: number) => {
        state = (state * 48_271) % 2_147_483_647
        return state % most
      }
      const outcomes = new Set<boolean>()
      for (let round = 0; round < 25; round++) {
        const window_minutes = [1, 30, 720, 1440, 2000, 4321][any(6)]!
        const threshold = 1 + any(8)
        const span = Math.round(window_minutes * MINUTE * 1.5)
        const times = Array.from({ length: any(14) }, () => NOW - any(span))
        const { organisation } = await newAlert({ threshold, window_minutes })
        await happened(organisation, times)
        await happened(organisation, times, 'connection_created')
        await happen(organisation, NOW)
        const since = NOW - window_minutes * MINUTE
        const fires = 1 + times.filter((at) => at > since).length >= threshold
        outcomes.add(fires)
        const of = JSON.stringify({ window_minutes, threshold, times })
        assert.equal((await timesFired(organisation)).length, fires ? 1 : 0, of)
      }
      assert.equal(outcomes.size, 2)
    })

    test('after it fired, it pauses for its window; then only newer activities count', async () => {
      const { organisation, alert } = await newAlert()
      await happen(organisation, NOW, 2)
      for (const age of [1, 5 * MINUTE, 10 * MINUTE - 1]) await happen(organisation, NOW + age, 3)
      assert.deepEqual(await timesFired(organisation), [NOW])
      const over = NOW + 10 * MINUTE
      await happen(organisation, over)
      assert.deepEqual(await timesFired(organisation), [NOW, over])
      await happen(organisation, over + 10 * MINUTE)
      assert.deepEqual(await timesFired(organisation), [NOW, over])
      await happen(organisation, over + 10 * MINUTE)
      const fired = await firedOf(organisation)
      const of = { target: alert, actor_id: null, data: '{"name":"Failures","event":"stamp"}' }
      assert.deepEqual(
        fired.map((row) => ({ ...row })),
        [NOW, over, over + 10 * MINUTE].map((at) => ({ at, ...of })),
      )
    })

    test('after it is switched on, it fires with the next activity; earlier ones count within the window', async () => {
      const { organisation, alert } = await newAlert({ enabled: false, threshold: 3 })
      await happen(organisation, NOW - 11 * MINUTE, 5)
      await happen(organisation, NOW, 2)
      await owner.account.orgAlerts.update({ id: alert, body: { enabled: true } })
      assert.deepEqual(await timesFired(organisation), [])
      await happen(organisation, NOW + 1)
      assert.deepEqual(await timesFired(organisation), [NOW + 1])
    })

    test('ignores other events and other organisations', async () => {
      const [one, other] = [await newAlert({ threshold: 1 }), await newAlert({ threshold: 1 })]
      for (const event of ['verification', 'alert_fired', 'member_joined'] as const)
        await happen(one.organisation, NOW, 5, event)
      assert.equal((await firedOf(one.organisation)).length, 5, 'those that were written')
      await happen(other.organisation, NOW)
      assert.deepEqual(await alertsOf(owner, one.alert), [])
      assert.deepEqual(await timesFired(other.organisation), [NOW])
    })

    test('all matching alerts of one event fire, each independently', async () => {
      const { organisation } = await newAlert()
      const create = (of: Partial<Rule>) =>
        owner.account.orgAlerts.create({
          body: { name: 'x', event: 'stamp', threshold: 1, window_minutes: 1, ...of },
        })
      for (const more of [{}, { threshold: 3 }, { event: 'verification' as const }])
        await create(more)
      await within((trx) =>
        noteActivities(
          trx,
          organisation,
          [...activities('stamp', 2), ...activities('verification', 1)],
          NOW,
          post(),
        ),
      )
      assert.equal((await firedOf(organisation)).length, 3)
    })

    test('an alert on created alerts fires for its own creation', async () => {
      const { organisation, alert } = await newAlert({ event: 'alert_created', threshold: 1 })
      // The first activity was its own creation.
      const [first] = await firedOf(organisation)
      assert.equal(first?.target, alert)
      const { items } = await owner.account.orgAlerts.list({})
      assert.equal(items[0]?.last_fired_at, new Date(NOW).toISOString())
    })

    test('notifies its recipients that are active members then', async () => {
      const { organisation } = await newAlert()
      const people = []
      for (const _ of [1, 2, 3, 4]) people.push(await fixture.member(organisation))
      const [named, other, suspended, gone] = people as [Person, Person, Person, Person]
      const name = '<b>Many\u00a0"www.evil.example"</b>'
      const body = { name, event: 'stamp', threshold: 1, window_minutes: 1 } as const
      const notify = [owner, named, suspended, gone].map(({ id }) => id)
      const { id } = await owner.account.orgAlerts.create({ body: { ...body, notify } })
      await fixture.setState(suspended.id, 'suspended')
      await fixture.hand.db.deleteFrom('accounts').where('id', '=', gone.id).execute()
      await happen(organisation, NOW)
      assert.deepEqual([await alertsOf(other, id), await alertsOf(suspended, id)], [[], []])
      for (const one of [owner, named]) {
        const [note, ...more] = await alertsOf(one, id)
        assert.deepEqual(more, [])
        assert.deepEqual(note, {
          id: note?.id,
          kind: 'org_alert',
          title: `The alert "'b'Many 'www. evil. example''/ b'" of "Acme" fired`,
          body: `In the organisation "Acme", a stamp was created 1 time or more within 1 minute. The alert "'b'Many 'www. evil. example''/ b'" sends nothing further for 1 minute.`,
          data: { organisation_id: organisation, alert_id: id },
          read: false,
          created_at: new Date(NOW).toISOString(),
        })
      }
      const { items } = await owner.account.orgAlerts.list({ limit: 1 })
      assert.deepEqual(items[0]?.notify, [owner, named, suspended].map((one) => one.id).toSorted())
      await fixture.setState(suspended.id, 'active')
      await happen(organisation, NOW + MINUTE)
      assert.equal((await alertsOf(suspended, id)).length, 1, 'back again')
    })

    describe('by mail', () => {
      /** Adds a member with a mailbox. */
      async function resident(organisation: string) {
        const address = newAddress()
        const person = await enrolByMail(fixture.subject.server, address)
        await fixture.hand.db
          .insertInto('organisation_members')
          .values({
            organisation_id: organisation,
            account_id: person.id,
            role: 'member',
            state: 'active',
            joined_at: NOW,
            member_id: newId('mem_', NOW),
          })
          .execute()
        return { ...person, address }
      }

      test('recipients with an address who did not decline mails', async () => {
        const { organisation, alert } = await newAlert({ name: 'Evil <a href="x">' })
        const [ada, bob, carl] = [
          await resident(organisation),
          await resident(organisation),
          await resident(organisation),
        ]
        await bob.account.preferences.update({ body: { email_notifications: false } })
        await carl.account.preferences.update({ body: { email_notifications: true } })
        const notify = [owner, ada, bob, carl].map(({ id }) => id)
        await owner.account.orgAlerts.update({ id: alert, body: { notify } })
        await happen(organisation, NOW, 2)
        assert.deepEqual(
          sent.map(({ to }) => to),
          [ada.address, carl.address].toSorted(),
        )
        const [{ subject, text }] = sent as [OutgoingLetter]
        assert.equal(subject, 'An alert at countersign.test')
        for (const expected of [
          `"Evil 'a href='x''"`,
          '"Acme"',
          'a stamp was created there 2 times or more',
        ])
          assert(text.includes(expected), text)
        for (const one of [ada, bob, carl]) assert.equal((await alertsOf(one, alert)).length, 1)
      })

      test('an operation of a real caller sends notification and mail', async () => {
        const { organisation, alert } = await newAlert({ event: 'group_created' })
        const ada = await resident(organisation)
        await owner.account.orgAlerts.update({ id: alert, body: { notify: [ada.id] } })
        for (const name of ['One', 'Two']) await owner.account.orgGroups.create({ body: { name } })
        const letter = await arrived(
          fixture.subject.server,
          ada.address,
          /a group was created there 2 times/,
        )
        assert.equal(letter.subject, 'An alert at countersign.test')
        assert.equal((await alertsOf(ada, alert)).length, 1)
      })

      test('rolled-back activities send nothing', async () => {
        const { organisation, alert } = await newAlert()
        const ada = await resident(organisation)
        await owner.account.orgAlerts.update({ id: alert, body: { notify: [ada.id] } })
        const undone = within(async (trx) => {
          await noteActivities(trx, organisation, activities('stamp', 5), NOW, post())
          throw new Error('undone')
        })
        await assert.rejects(undone, /undone/)
        await background.idle()
        assert.deepEqual(
          [sent, await alertsOf(ada, alert), await firedOf(organisation)],
          [[], [], []],
        )
      })

      test('ten an hour to one mailbox, for all alerts together', async () => {
        const { organisation, alert } = await newAlert({ threshold: 1, window_minutes: 1 })
        const ada = await resident(organisation)
        await owner.account.orgAlerts.update({ id: alert, body: { notify: [ada.id] } })
        for (let i = 0; i < 15; i++) await happen(organisation, NOW + i * MINUTE)
        assert.equal((await firedOf(organisation)).length, 15)
        assert.equal((await alertsOf(ada, alert)).length, 15)
        assert.equal(sent.length, 10)
        await happen(organisation, NOW + 60 * MINUTE)
        assert.equal(sent.length, 11)
      })
    })

    test('concurrent activities: fires once, when the threshold is reached', async () => {
      for (let round = 0; round < 3; round++) {
        const { organisation } = await newAlert({ threshold: 12, notify: [owner.id] })
        const one = (_: unknown, i: number) =>
          within((trx) =>
            noteActivities(trx, organisation, activities('stamp', 1), NOW + i, post()),
          )
        await Promise.all(Array.from({ length: 11 }, one))
        assert.deepEqual(await timesFired(organisation), [])
        await Promise.all(Array.from({ length: 12 }, one))
        assert.equal((await firedOf(organisation)).length, 1)
      }
      const { organisation } = await newAlert({ threshold: 12 })
      const one = (_: unknown, i: number) =>
        within((trx) => noteActivities(trx, organisation, activities('stamp', 1), NOW + i, post()))
      await Promise.all(Array.from({ length: 12 }, one))
      assert.equal((await firedOf(organisation)).length, 1)
    })

    test('changing the rules while they fire does not deadlock', async () => {
      const { alert } = await newAlert({ event: 'alert_updated', threshold: 1, window_minutes: 1 })
      const { account } = owner
      const others = []
      for (const name of ['a', 'b', 'c'])
        others.push(
          await account.orgAlerts.create({
            body: { name, event: 'alert_updated', threshold: 1, window_minutes: 1 },
          }),
        )
      for (let round = 0; round < 3; round++) {
        fixture.subject.clock.ms += MINUTE
        await Promise.all(
          [alert, ...others.map(({ id }) => id)].map((id) =>
            account.orgAlerts.update({ id, body: { name: `round ${round}` } }),
          ),
        )
      }
      fixture.subject.clock.ms = NOW
    })

    if (engine.replicas)
      test('firing and changing an alert concurrently by one member: neither fails', async () => {
        const { organisation, alert } = await newAlert({ threshold: 1, window_minutes: 1 })
        const stamp = { event: 'stamp', actor: owner.id } as const
        for (let round = 0; round < 10; round++)
          await Promise.all(
            [1, 2, 3].flatMap((n) => [
              within((trx) =>
                noteActivities(trx, organisation, [stamp], NOW + round * MINUTE, post()),
              ),
              owner.account.orgAlerts.update({ id: alert, body: { name: `round ${round}, ${n}` } }),
            ]),
          )
        assert.equal((await firedOf(organisation)).length, 10)
      })

    /**
     * Returns the searches that an activity causes: the table of each, and its plan on SQLite.
     */
    async function searchesOf(organisation: string, event: OrgEvent) {
      const searches: SelectQueryNode[] = []
      return within(async (trx) => {
        const watched = trx.withPlugin({
          transformQuery: ({ node }) => {
            if (SelectQueryNode.is(node)) searches.push(node)
            return node
          },
          transformResult: async ({ result }) => result,
        }) as Transaction<Schema>
        await noteActivities(watched, organisation, activities(event, 1), NOW, post())
        const found = []
        for (const node of searches) {
          const { sql: text, parameters } = trx.getExecutor().compileQuery(node, createQueryId())
          const [, table] = /from "(\w+)"/.exec(text) as unknown as [string, string]
          const plan = engine.replicas
            ? []
            : (
                await trx.executeQuery<{ detail: string }>(
                  CompiledQuery.raw(`explain query plan ${text}`, [...parameters]),
                )
              ).rows.map(({ detail }) => detail)
          found.push({ table, plan: plan.join('; ') })
        }
        return found
      })
    }

    test('an activity without an alert costs one query; a quiet alert does not read the history', async () => {
      const { organisation } = await newAlert({ threshold: 1000, window_minutes: 43_200 })
      const other = await searchesOf(organisation, 'verification')
      assert.deepEqual(
        other.map(({ table }) => table),
        ['organisation_alerts'],
      )
      const own = await searchesOf(organisation, 'stamp')
      assert.deepEqual(
        own.map(({ table }) => table),
        ['organisation_alerts', 'organisation_event_days'],
      )
      for (const { plan } of [...other, ...own]) assert.doesNotMatch(plan, /SCAN/)
    })

    test('100,000 activities outside the window fire nothing', async () => {
      const { organisation } = await newAlert({ threshold: 10 })
      const MANY = 50_000
      const { db } = fixture.hand
      // Activities of another event now, and of this one on the same day before the window
      // begins.
      for (const [event, at] of [
        ['verification', NOW],
        ['stamp', NOW - 10 * MINUTE - MANY],
      ] as const) {
        const cells = sql`${event} || i, cast(${organisation} as text), ${sql.lit(at)} + i, cast(${event} as text), '{}'`
        await sql`insert into organisation_activities (id, organisation_id, at, event, data)
          with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(MANY)})
          select ${cells} from n`.execute(db)
        const day = Math.floor(NOW / DAY)
        const of = { organisation_id: organisation, day, event, count: MANY }
        await db.insertInto('organisation_event_days').values(of).execute()
        await sql`insert into organisation_event_minutes (organisation_id, event, minute, count)
          select organisation_id, event, cast(at / ${sql.lit(MINUTE)} as integer), count(*)
          from organisation_activities where organisation_id = ${organisation} and event = ${event}
          group by 1, 2, 3`.execute(db)
      }
      await happen(organisation, NOW, 8)
      const searches = await searchesOf(organisation, 'stamp')
      const { plan } = searches.find(({ table }) => table === 'organisation_activities')!
      if (!engine.replicas)
        assert.match(
          plan,
          /^SEARCH \S+ USING \S*\s?INDEX organisation_activities_by_event \([^)]*at>\? AND at<\?\)$/,
        )
      assert.deepEqual(await firedOf(organisation), [])
      await happen(organisation, NOW)
      assert.deepEqual(await timesFired(organisation), [NOW])
    })

    test('an invalid rule written directly to the database fires nothing', async () => {
      const { organisation, alert } = await newAlert({ threshold: 1 })
      await fixture.hand.db
        .updateTable('organisation_alerts')
        .set({ event: 'alert_fired' })
        .where('id', '=', alert)
        .execute()
      await happen(organisation, NOW, 3)
      assert.deepEqual(await firedOf(organisation), [])
    })
  })
}
