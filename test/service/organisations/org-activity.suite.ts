/** The activities recorded in an organisation: their list and their counts, on any engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { OrgActivity } from '../../../src/api/rest/org.ts'
import type { VerificationEntry } from '../../../src/api/rest/verify.ts'
import { transactionWithMarks } from '../../../src/service/db/sync-marks.ts'
import { noteActivities } from '../../../src/service/organisations/activity-subscribers.ts'
import type { Engine } from '../engines.ts'
import { newKey } from '../machines-subject.ts'
import { connect, enrol, opening, type Person, stampOf } from '../person.ts'
import { type OrgFixture, NOW, openOrgFixture } from './org-subject.ts'
import { rejects } from '../../rejects.ts'

const DAY = 24 * 3_600_000

type Member = { readonly account: Account }

const listOf = async ({ account }: Member, page: { limit?: number; cursor?: string } = {}) =>
  account.orgActivity.list(page)
const events = async (who: Member) =>
  (await listOf(who, { limit: 200 })).items.map((one) => one.event)

const entryOf = (
  outcome: VerificationEntry['outcome'],
  of: Partial<VerificationEntry> = {},
): VerificationEntry => ({
  id: newId('ver_', NOW),
  at: new Date(NOW).toISOString(),
  method: 'local',
  outcome,
  matches: [],
  caller: null,
  ...of,
})
const push = ({ account }: Member, items: VerificationEntry[]) =>
  account.verifications.push({ body: { items } })
const stamp = ({ account }: Member, { stamp: signed }: { stamp: string }) =>
  account.stamps.create({ body: { stamp: signed } })
const newStamp = (person: Person) =>
  stampOf(person, { sha256: encodeBase64url(crypto.getRandomValues(new Uint8Array(32))) })

export function orgActivitySuite(name: string, engine: Engine): void {
  describe(`activity of organisations: ${name}`, () => {
    let fixture: OrgFixture
    const clock = { ms: NOW }
    before(async () => {
      fixture = await openOrgFixture(engine, clock)
    })
    after(() => fixture.close())

    const post = () => ({
      db: fixture.hand.db,
      background: { run: () => undefined, idle: async () => undefined },
      mail: { isRelayed: false, send: async () => undefined },
      publicUrl: () => 'https://countersign.test',
    })
    /** Records activities of an organisation. */
    const happened = (
      organisation: string,
      activities: Parameters<typeof noteActivities>[2],
      at = clock.ms,
    ) =>
      transactionWithMarks(fixture.hand.db, (trx) =>
        noteActivities(trx, organisation, activities, at, post()),
      )

    /**
     * Returns the stored counts of an organisation, and the same counted again from its
     * activities.
     */
    async function counts(organisation: string) {
      const { db } = fixture.hand
      const rowsOf = async (
        table: 'organisation_totals' | 'organisation_event_days' | 'organisation_actor_days',
      ) => {
        const rows = await db
          .selectFrom(table)
          .selectAll()
          .where('organisation_id', '=', organisation)
          .execute()
        return rows.map((row) => {
          const { day = '', event = '', actor_id = '', count } = row as Record<string, unknown>
          return `${String(day)} ${String(event)}${String(actor_id)} ${String(count)}`
        })
      }
      const raw = await db
        .selectFrom('organisation_activities')
        .selectAll()
        .where('organisation_id', '=', organisation)
        .execute()
      const by = (keyOf: (row: (typeof raw)[number]) => string | null) =>
        [...Map.groupBy(raw, keyOf)].flatMap(([key, { length }]) =>
          key === null ? [] : [`${key} ${length}`],
        )
      const day = (at: number) => Math.floor(at / DAY)
      return {
        stored: [
          ...(await rowsOf('organisation_totals')),
          ...(await rowsOf('organisation_event_days')),
          ...(await rowsOf('organisation_actor_days')),
        ].toSorted(),
        counted: [
          ...by(({ event }) => ` ${event}`),
          ...by(({ at, event }) => `${day(at)} ${event}`),
          ...by(({ at, actor_id }) => (actor_id === null ? null : `${day(at)} ${actor_id}`)),
        ].toSorted(),
      }
    }
    async function requireExact(organisation: string): Promise<void> {
      const { stored, counted } = await counts(organisation)
      assert.deepEqual(stored, counted)
    }

    describe('records of an operation', () => {
      interface Expected {
        readonly event: OrgActivity['event']
        readonly target: string | null
        readonly data?: OrgActivity['data']
      }
      /** Each returns the expected activities, newest first. */
      const ACTS: Readonly<
        Record<string, (person: Person, organisation: string) => Promise<Expected[]>>
      > = {
        'a machine account': async ({ account }, organisation_id) => {
          const body = { organisation_id, name: 'billing', key: newKey().jwk }
          const { machine_id } = await account.machines.create({ body })
          await account.machines.create({ body })
          return [{ event: 'machine_created', target: machine_id }]
        },
        'a connection': async (person) => {
          const body = await opening(person)
          const { id } = await person.account.rosters.open({ body })
          await person.account.rosters.open({ body })
          return [{ event: 'connection_created', target: id }]
        },
        'verifications of every outcome': async (person) => {
          const items = [
            entryOf('verified'),
            entryOf('not_verified', { method: 'public' }),
            entryOf('inconclusive'),
            entryOf('echo'),
          ]
          const [good, bad] = items as [VerificationEntry, VerificationEntry]
          // The same entry once more, and another entry under an id that is in use.
          assert.equal((await push(person, [...items, { ...good, outcome: 'echo' }])).accepted, 4)
          assert.equal(
            (await push(person, [...items, { ...bad, outcome: 'verified' }])).accepted,
            0,
          )
          return [
            { event: 'verification_failed', target: bad.id, data: { method: 'public' } },
            { event: 'verification', target: good.id, data: { method: 'local' } },
          ]
        },
        'a stamp': async (person) => {
          const made = newStamp(person)
          const { receipt } = await stamp(person, made)
          assert.equal((await stamp(person, made)).receipt, receipt)
          return [{ event: 'stamp', target: made.jti }]
        },
      }
      for (const [what, act] of Object.entries(ACTS)) {
        test(`${what}: recorded once, however often the request is repeated`, async () => {
          const { organisation } = await fixture.owner()
          const bob = await fixture.member(organisation, { role: 'admin' })
          const answer = await act(bob, organisation)
          const { items } = await listOf(bob)
          assert.deepEqual(
            items,
            answer.map((one, i) => ({
              id: items[i]?.id,
              at: new Date(NOW).toISOString(),
              actor: { user_id: bob.id, display_name: 'Bob' },
              data: {},
              ...one,
            })),
          )
          await requireExact(organisation)
        })

        if (what !== 'a machine account')
          test(`${what}, without an active organisation: not recorded`, async () => {
            const owner = await fixture.owner()
            const bob = await fixture.member(owner.organisation, { role: 'admin' })
            await bob.account.context.activeOrg({ body: { organisation_id: null } })
            await act(bob, owner.organisation)
            assert.deepEqual(await events(owner), [])
          })
      }

      test('records tokens that a machine account makes and revokes', async () => {
        const owner = await fixture.owner()
        const machine = await fixture.machine(owner, owner.organisation)
        const { machineTokens } = machine.account
        const made = await machineTokens.create({ body: { name: 'deploy', scope: 'read' } })
        await machineTokens.delete({ id: made.id })
        await machineTokens.delete({ id: made.id })
        const { items } = await listOf(owner)
        assert.deepEqual(
          items.map(({ event, target, actor }) => [event, target, actor?.user_id]),
          [
            ['token_revoked', made.id, machine.id],
            ['token_created', made.id, machine.id],
            ['machine_created', machine.id, owner.id],
          ],
        )
        assert(!JSON.stringify(items).includes(made.token))
        await rejects('not_found', machineTokens.delete({ id: newId('tok_', NOW) }))
        const other = await fixture.machine(owner, owner.organisation)
        await rejects('not_found', other.account.machineTokens.delete({ id: made.id }))
      })

      test('an account that is deleted leaves its organisations, and their activity does not identify it', async () => {
        const [ada, eve] = [await fixture.owner(), await fixture.owner('Eve')]
        const bob = await fixture.member(ada.organisation)
        await connect(bob)
        await fixture.hand.db
          .insertInto('organisation_members')
          .values({
            organisation_id: eve.organisation,
            account_id: bob.id,
            role: 'member',
            state: 'suspended',
            joined_at: 0,
            member_id: newId('mem_', NOW),
          })
          .execute()
        await happened(ada.organisation, [
          { event: 'member_joined', actor: bob.id, target: bob.id },
        ])
        const listed = await fixture.hand.db
          .selectFrom('organisation_members')
          .select(['organisation_id', 'member_id'])
          .where('account_id', '=', bob.id)
          .execute()
        const memberIn = new Map(listed.map((row) => [row.organisation_id, row.member_id]))
        await bob.account.account.delete({})
        for (const owner of [ada, eve]) {
          const [left, ...before] = (await listOf(owner)).items
          assert.deepEqual(
            [left?.event, left?.actor, left?.target],
            ['member_left', null, memberIn.get(owner.organisation)],
          )
          assert.deepEqual(
            before.map(({ event, actor }) => [event, actor]),
            owner === ada
              ? [
                  ['member_joined', null],
                  ['connection_created', null],
                ]
              : [],
          )
          const summary = await owner.account.orgActivity.summary({})
          assert.equal(summary.by_event.find(({ event }) => event === 'member_left')?.count, 1)
          assert.deepEqual(summary.by_actor, [])
          assert(!JSON.stringify([await listOf(owner), summary]).includes(bob.id))
        }
        assert.equal((await listOf(ada)).items[1]?.target, null)
      })

      test('a rejected operation is not recorded', async () => {
        const ada = await fixture.owner()
        const key = newKey().jwk
        const create = (called: string) =>
          ada.account.machines.create({
            body: { organisation_id: ada.organisation, name: called, key },
          })
        await create('billing')
        await rejects('conflict', create('another'))
        const bob = await fixture.member(ada.organisation)
        await rejects(
          'forbidden',
          bob.account.machines.create({
            body: { organisation_id: ada.organisation, name: 'x', key: newKey().jwk },
          }),
        )
        await assert.rejects(push(ada, [entryOf('verified'), entryOf('no' as 'echo')]))
        assert.deepEqual(await events(ada), ['machine_created'])
        await requireExact(ada.organisation)
      })

      test('a rolled-back transaction is not counted', async () => {
        const ada = await fixture.owner()
        await assert.rejects(
          fixture.hand.db.transaction().execute(async (trx) => {
            const activity = { event: 'stamp', actor: ada.id } as const
            await noteActivities(trx, ada.organisation, [activity], NOW, post())
            throw new Error('no')
          }),
        )
        assert.deepEqual(await events(ada), [])
        assert.equal((await ada.account.orgAnalytics.dashboard({})).activities, 0)
      })
    })

    describe('concurrent operations', () => {
      test('fifty, by several members: all finish, and each is counted', async () => {
        const ada = await fixture.owner()
        const people = [
          ada,
          await fixture.member(ada.organisation),
          await fixture.member(ada.organisation),
        ]
        const acts = Array.from({ length: 50 }, (_, i) => {
          const person = people[i % people.length]!
          return [
            () => push(person, [entryOf('verified'), entryOf('not_verified'), entryOf('verified')]),
            () => push(person, [entryOf('not_verified'), entryOf('verified')]),
            () => stamp(person, newStamp(person)),
            () => connect(person),
            () =>
              ada.account.machines.create({
                body: { organisation_id: ada.organisation, name: 'x', key: newKey().jwk },
              }),
          ][i % 5]!
        })
        await Promise.all(acts.map((act) => act()))
        const { by_event } = await ada.account.orgActivity.summary({})
        assert.deepEqual(
          by_event.map(({ event, count }) => [event, count]),
          [
            ['verification', 30],
            ['verification_failed', 20],
            ['connection_created', 10],
            ['machine_created', 10],
            ['stamp', 10],
          ],
        )
        await requireExact(ada.organisation)
      })

      test('members delete their accounts at once', async () => {
        const ada = await fixture.owner()
        const leaving = []
        for (let i = 0; i < 8; i++)
          leaving.push(
            await fixture.member(ada.organisation, { state: i % 2 === 0 ? 'active' : 'suspended' }),
          )
        await Promise.all([
          ...leaving.map(({ account }) => account.account.delete({})),
          ...leaving.map(() => push(ada, [entryOf('verified')])),
        ])
        const { by_event } = await ada.account.orgActivity.summary({})
        assert.deepEqual(by_event, [
          { event: 'member_left', count: 8 },
          { event: 'verification', count: 8 },
        ])
        await requireExact(ada.organisation)
      })

      test('alerts that fire on them are changed, and their recipients leave meanwhile', async () => {
        const ada = await fixture.owner()
        const bob = await fixture.member(ada.organisation, { role: 'admin' })
        const leaving = await Promise.all(
          Array.from({ length: 4 }, () => fixture.member(ada.organisation)),
        )
        const notify = [ada, bob, ...leaving].map(({ id }) => id)
        const watched = ['verification', 'stamp', 'connection_created', 'member_left'] as const
        const alerts = []
        for (const event of [...watched, 'alert_updated'] as const) {
          const body = { name: `about ${event}`, event, threshold: 1, window_minutes: 60, notify }
          alerts.push(await ada.account.orgAlerts.create({ body }))
        }
        const changes = alerts.flatMap(({ id }) =>
          [ada, bob].map(
            ({ account }) =>
              () =>
                account.orgAlerts.update({ id, body: { name: 'changed' } }),
          ),
        )
        const acts = [ada, bob].flatMap((person) => [
          () => push(person, [entryOf('verified')]),
          () => stamp(person, newStamp(person)),
          () => connect(person),
        ])
        const ends = leaving.map(
          ({ account }) =>
            () =>
              account.account.delete({}),
        )
        await Promise.all([...acts, ...changes, ...ends, ...acts].map((act) => act()))
        const { alerts_fired } = await ada.account.orgAnalytics.dashboard({})
        assert.equal(alerts_fired, alerts.length, 'each once in its window')
        const { by_event } = await ada.account.orgActivity.summary({})
        const counts = new Map(by_event.map(({ event, count }) => [event, count]))
        for (const [event, count] of [
          ['verification', 4],
          ['stamp', 4],
          ['connection_created', 4],
          ['member_left', 4],
        ] as const)
          assert.equal(counts.get(event), count, event)
        await requireExact(ada.organisation)
      })
    })

    if (engine.replicas)
      describe('members who leave while alerts notify them', () => {
        const verified = ({ account }: Person, { id: member_id }: Person) => {
          const claim = { display_name: 'Bob', connection_id: newId('con_', NOW), window: 0 }
          const match = { kind: 'connection', speaker: 'other', member_id, ...claim } as const
          const matches = [{ ...match, connection_name: 'Desk' }]
          return push({ account }, [entryOf('verified', { matches })])
        }
        const ACTS: Readonly<
          Record<string, (leaving: Person, staying: Person) => Promise<unknown>>
        > = {
          'make stamps': (leaving) => stamp(leaving, newStamp(leaving)),
          'are verified by a follower': (leaving, staying) => verified(staying, leaving),
        }
        for (const [what, act] of Object.entries(ACTS))
          test(`members who ${what}: no deadlock`, async () => {
            /**
             * Error codes of failed transactions. A rejection because the account is deleted does
             * not count: no other transaction caused it.
             */
            const refused: string[] = []
            const ignoreGone = (error: unknown) => {
              const { code } = error as { code: string }
              if (code.startsWith('backend_')) refused.push(code)
            }
            for (let round = 0; round < 4; round++) {
              const ada = await fixture.owner()
              const people = await Promise.all(
                Array.from({ length: 4 }, () => fixture.member(ada.organisation)),
              )
              const notify = people.map(({ id }) => id)
              const rule = { name: 'x', threshold: 1, window_minutes: 10, notify }
              for (const event of ['stamp', 'verification'] as const)
                await ada.account.orgAlerts.create({ body: { ...rule, event } })
              for (const { id } of people)
                await ada.account.trustCards.create({ body: { user_id: id } })
              await Promise.all(
                people.flatMap((person) => [
                  act(person, ada).catch(ignoreGone),
                  person.account.account.delete({}).catch(ignoreGone),
                  act(person, ada).catch(ignoreGone),
                ]),
              )
              await requireExact(ada.organisation)
            }
            assert.deepEqual(refused, [])
          })
      })

    describe('the list', () => {
      test('newest first, page by page', async () => {
        const ada = await fixture.owner()
        for (let i = 0; i < 7; i++)
          await happened(ada.organisation, [
            { event: 'stamp', actor: i % 2 === 0 ? ada.id : null, target: String(i) },
          ])
        const shown: (string | null)[] = []
        let cursor: string | null | undefined
        while (cursor !== null) {
          const page = await listOf(ada, { limit: 3, ...(cursor === undefined ? {} : { cursor }) })
          assert(page.items.length <= 3)
          shown.push(...page.items.map(({ target }) => target))
          cursor = page.next_cursor
        }
        assert.deepEqual(shown, ['6', '5', '4', '3', '2', '1', '0'])
        const { items } = await listOf(ada)
        assert.deepEqual(
          items.map(({ actor }) => actor?.display_name ?? null),
          ['Ada', null, 'Ada', null, 'Ada', null, 'Ada'],
        )
      })

      test('returns a name unchanged, as text', async () => {
        const called = '<img src=x onerror=alert(1)>'
        const ada = await fixture.owner(called)
        await connect(ada)
        assert.equal((await listOf(ada)).items[0]?.actor?.display_name, called)
      })

      test('rejects invalid pages and cursors', async () => {
        const ada = await fixture.owner()
        for (const limit of [-1, 0, 201, 1.5, Number.NaN])
          await rejects('validation_failed', listOf(ada, { limit }))
        const text = (id: string) => encodeBase64url(new TextEncoder().encode(id))
        for (const cursor of ['', 'x', text(ada.id), text('act_'), text(newId('grp_', NOW))])
          await rejects('bad_request', listOf(ada, { cursor }))
        await rejects('validation_failed', listOf(ada, { cursor: 'x'.repeat(1 << 20) }))
      })

      test('a cursor of another organisation reveals nothing of it', async () => {
        const [ada, eve] = [await fixture.owner(), await fixture.owner('Eve')]
        for (let i = 0; i < 3; i++) {
          await happened(ada.organisation, [{ event: 'stamp', actor: ada.id }])
          await happened(eve.organisation, [{ event: 'stamp', actor: eve.id }])
        }
        const { next_cursor } = await listOf(eve, { limit: 1 })
        const { items } = await listOf(ada, { cursor: next_cursor! })
        assert.deepEqual(new Set(items.map(({ actor }) => actor?.user_id)), new Set([ada.id]))
      })
    })

    describe('readers', () => {
      const READS: Readonly<Record<string, (account: Account) => Promise<object>>> = {
        list: (account) => account.orgActivity.list({}),
        summary: (account) => account.orgActivity.summary({}),
        dashboard: (account) => account.orgAnalytics.dashboard({}),
        trends: (account) => account.orgAnalytics.trends({ metric: 'activity' }),
      }
      for (const role of ['owner', 'admin', 'member'] as const)
        test(`an active ${role}, and no suspended or invited one`, async () => {
          const { organisation } = await fixture.owner()
          const bob = await fixture.member(organisation, { role })
          for (const read of Object.values(READS)) await read(bob.account)
          for (const state of ['suspended', 'invited'] as const) {
            await fixture.setState(bob.id, state)
            for (const read of Object.values(READS))
              await rejects('no_active_organisation', read(bob.account))
          }
        })

      test('a machine account, until it is suspended', async () => {
        const owner = await fixture.owner()
        const machine = await fixture.machine(owner, owner.organisation)
        for (const read of Object.values(READS)) await read(machine.account)
        await fixture.setState(machine.id, 'suspended')
        for (const read of Object.values(READS))
          await rejects('no_active_organisation', read(machine.account))
      })

      test('no account without an active organisation', async () => {
        const stranger = await enrol(fixture.subject.server)
        for (const read of Object.values(READS))
          await rejects('no_active_organisation', read(stranger.account))
      })

      test('each account reads only its active organisation', async () => {
        const [ada, eve] = [await fixture.owner(), await fixture.owner('Eve')]
        await connect(ada)
        assert.deepEqual(await events(eve), [])
        assert.deepEqual((await eve.account.orgActivity.summary({})).by_event, [])
        assert.equal((await eve.account.orgAnalytics.dashboard({})).activities, 0)
        const { points } = await eve.account.orgAnalytics.trends({ metric: 'activity' })
        assert(points.every(({ value }) => value === 0))
      })
    })

    describe('the summary', () => {
      const summary = (who: Member, query: object = {}) =>
        who.account.orgActivity.summary(query as { from?: string })

      test('covers thirty days by default, most frequent first', async () => {
        const ada = await fixture.owner()
        const bob = await fixture.member(ada.organisation)
        const { organisation } = ada
        await happened(organisation, [{ event: 'stamp', actor: ada.id }], NOW - 30 * DAY)
        await happened(organisation, [{ event: 'stamp', actor: ada.id }], NOW - 29 * DAY)
        await happened(organisation, [
          { event: 'member_joined', actor: bob.id },
          { event: 'verification', actor: bob.id },
          { event: 'verification', actor: ada.id },
          { event: 'verification', actor: bob.id },
          { event: 'alert_fired', actor: null },
        ])
        assert.deepEqual(await summary(ada), {
          from: '2026-05-19T00:00:00.000Z',
          to: '2026-06-17T23:59:59.999Z',
          by_event: [
            { event: 'verification', count: 3 },
            { event: 'alert_fired', count: 1 },
            { event: 'member_joined', count: 1 },
            { event: 'stamp', count: 1 },
          ],
          by_actor: [
            { actor: { user_id: bob.id, display_name: 'Bob' }, count: 3 },
            { actor: { user_id: ada.id, display_name: 'Ada' }, count: 2 },
          ],
        })
      })

      test('a day is a day in UTC, from its first millisecond to its last', async () => {
        const ada = await fixture.owner()
        const day = Date.UTC(2026, 1, 28)
        for (const at of [day - 1, day, day + DAY - 1, day + DAY])
          await happened(ada.organisation, [{ event: 'stamp', actor: null }], at)
        const found = await summary(ada, { from: '2026-02-28', to: '2026-02-28' })
        assert.deepEqual(found.by_event, [{ event: 'stamp', count: 2 }])
      })

      test('shows the hundred most active members', async () => {
        const ada = await fixture.owner()
        const ids = Array.from({ length: 120 }, () => newId('acc_', NOW))
        await fixture.hand.db
          .insertInto('accounts')
          .values(ids.map((id, i) => ({ id, kind: 'person', display_name: `P${i}` })))
          .execute()
        await happened(
          ada.organisation,
          ids.flatMap((actor, i) =>
            Array.from({ length: i + 1 }, () => ({ event: 'stamp' as const, actor })),
          ),
        )
        const { by_actor, by_event } = await summary(ada)
        assert.deepEqual(
          by_actor.map(({ actor, count }) => [actor?.display_name, count]),
          Array.from({ length: 100 }, (_, i) => [`P${119 - i}`, 120 - i]),
        )
        assert.deepEqual(by_event, [{ event: 'stamp', count: (120 * 121) / 2 }])
        await requireExact(ada.organisation)
      })

      for (const [what, query, path] of [
        ['from after to', { from: '2026-03-02', to: '2026-03-01' }, 'from'],
        ['from after today', { from: '2026-06-18' }, 'from'],
        ['367 days', { from: '2025-03-01', to: '2026-03-02' }, 'from'],
        ['an invalid day', { from: '2026-02-30' }, 'from'],
        ['the 29th of February in a common year', { to: '2026-02-29' }, 'to'],
        ['a time', { from: '2026-02-01T00:00:00Z' }, 'from'],
        ['before 1970', { from: '1969-12-31', to: '1970-01-01' }, 'from'],
        ['the year 0', { from: '0000-01-01', to: '0000-01-02' }, 'from'],
        ['no day', { to: 'yesterday' }, 'to'],
        ['a direction override', { to: '\u202e2026-02-01' }, 'to'],
        ['a mebibyte', { to: '1'.repeat(1 << 20) }, 'to'],
        ['an unknown field', { until: '2026-02-01' }, 'until'],
      ] as const)
        test(`rejects ${what}`, async () => {
          const ada = await fixture.owner()
          await assert.rejects(summary(ada, query), (error: Error) => {
            const { code, details } = error as Error & {
              code: string
              details: { issues: { path: string }[] }
            }
            assert.deepEqual([code, details.issues[0]?.path], ['validation_failed', path])
            return true
          })
        })

      test('366 days in the far future: empty', async () => {
        const ada = await fixture.owner()
        const { from, to, by_event } = await summary(ada, { from: '9999-01-01', to: '9999-12-31' })
        assert.deepEqual([from, to], ['9999-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'])
        assert.deepEqual(by_event, [])
        await summary(ada, { from: '2024-01-01', to: '2024-12-31' })
      })
    })
  })
}
