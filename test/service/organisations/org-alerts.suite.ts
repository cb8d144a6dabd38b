/** Alerts of an organisation as they are stored, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { every } from '../../../src/api/cursor.ts'
import type { Account } from '../../../src/api/port.ts'
import type { OrgAlert } from '../../../src/api/rest/org.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { isInvalid } from '../../account/subject.ts'
import type { Engine } from '../engines.ts'
import { type OrgFixture, openOrgFixture } from './org-subject.ts'
import { type Actions, testRights } from './org-rights.ts'
import type { Person } from '../person.ts'
import { rejects } from '../../rejects.ts'

const NOBODYS = newId('alr_', 0)
const MIB = 'x'.repeat(1024 * 1024)

type Caller = { readonly account: Account }
type Owner = Awaited<ReturnType<OrgFixture['owner']>>
type Body = Parameters<Account['orgAlerts']['create']>[0]['body']

const RULE = {
  name: 'Failures',
  event: 'verification_failed',
  threshold: 5,
  window_minutes: 10,
} as const satisfies Body

export function orgAlertsSuite(engineName: string, engine: Engine): void {
  let fixture: OrgFixture
  let ada: Owner
  let bob: Person
  const create = (of: Partial<Body> = {}, by: Caller = ada) =>
    by.account.orgAlerts.create({ body: { ...RULE, ...of } })
  const all = ({ account }: Caller) => every((query) => account.orgAlerts.list(query))

  describe(`alerts: ${engineName}`, () => {
    before(async () => {
      fixture = await openOrgFixture(engine)
      ada = await fixture.owner()
      bob = await fixture.member(ada.organisation)
    })
    after(() => fixture.close())

    test('are created, changed in part and deleted, and each change is recorded', async () => {
      const owner = await fixture.owner()
      const member = await fixture.member(owner.organisation)
      const suspended = await fixture.member(owner.organisation, { state: 'suspended' })
      const { orgAlerts } = owner.account
      const plain = await create({}, owner)
      const created_at = new Date(fixture.subject.clock.ms).toISOString()
      let expected: OrgAlert = {
        ...RULE,
        id: plain.id,
        enabled: true,
        notify: [],
        last_fired_at: null,
        created_at,
      }
      assert.deepEqual(plain, expected)
      await orgAlerts.delete({ id: plain.id })

      const made = await create({ enabled: false, notify: [owner.id, member.id, owner.id] }, owner)
      const both = [owner.id, member.id].sort()
      expected = { ...expected, id: made.id, enabled: false, notify: both }
      assert.deepEqual(made, expected)
      const changes: [body: Partial<Body>, isChange: boolean][] = [
        [{}, false],
        [{ name: 'Too many' }, true],
        [{ name: 'Too many', enabled: false, notify: both.toReversed() }, false],
        [{ event: 'stamp' }, true],
        [{ threshold: 1_000_000 }, true],
        [{ window_minutes: 43_200 }, true],
        [{ enabled: true }, true],
        [{ notify: [suspended.id] }, true],
        [{ notify: [] }, true],
        [{ ...RULE, enabled: false, notify: [member.id] }, true],
      ]
      let changed = 0
      for (const [body, isChange] of changes) {
        expected = { ...expected, ...body } as OrgAlert
        if (body.notify !== undefined) expected.notify = [...body.notify].sort()
        assert.deepEqual(await orgAlerts.update({ id: made.id, body }), expected)
        assert.deepEqual(await all(owner), [expected])
        if (isChange) changed += 1
      }
      await orgAlerts.delete({ id: made.id })
      assert.deepEqual(await all(owner), [])
      const rows = await fixture.hand.db
        .selectFrom('organisation_activities')
        .select(['event', 'actor_id', 'target'])
        .where('organisation_id', '=', owner.organisation)
        .where('event', 'like', 'alert%')
        .where('target', '=', made.id)
        .orderBy('id')
        .execute()
      const of = (event: string) => ({ event, actor_id: owner.id, target: made.id })
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [
          of('alert_created'),
          ...Array.from({ length: changed }, () => of('alert_updated')),
          of('alert_deleted'),
        ],
      )
    })

    const ACTIONS: Actions = {
      list: (account) => account.orgAlerts.list({}),
      create: async (account) => {
        const { id } = await account.orgAlerts.create({ body: RULE })
        await account.orgAlerts.delete({ id })
      },
      update: (account, id) => account.orgAlerts.update({ id, body: { name: 'Other' } }),
      delete: (account, id) => account.orgAlerts.delete({ id }),
    }
    testRights({ place: () => ({ fixture, owner: ada }), create, actions: ACTIONS })

    for (const action of ['update', 'delete'])
      test(`${action}: unknown, deleted and malformed ids are not found`, async () => {
        const gone = await create()
        await ada.account.orgAlerts.delete({ id: gone.id })
        for (const id of [gone.id, NOBODYS, 'x', gone.id.toUpperCase(), ada.id])
          await rejects('not_found', ACTIONS[action]!(ada.account, id))
      })

    test('a recipient who is no member is rejected with its position, and nothing is stored', async () => {
      const other = await fixture.owner()
      const made = await create({ notify: [bob.id] })
      const before = await all(ada)
      for (const stranger of [newId('acc_', 0), other.id]) {
        const notify = [bob.id, stranger, ada.id]
        await isInvalid('notify.1', 'No member', create({ notify }))
        const body = { name: 'Changed', notify }
        const update = ada.account.orgAlerts.update({ id: made.id, body })
        await isInvalid('notify.1', 'No member', update)
      }
      await isInvalid('notify.0', 'begins with acc_', create({ notify: [newId('mem_', 0)] }))
      const many = Array.from({ length: 101 }, () => bob.id)
      await isInvalid('notify', 'at most 100', create({ notify: many }))
      assert.deepEqual(await all(ada), before)
      const { notify } = await create({ notify: many.slice(1) })
      assert.deepEqual(notify, [bob.id])
    })

    test('an organisation has a hundred at most', async () => {
      const owner = await fixture.owner()
      const of = {
        ...RULE,
        organisation_id: owner.organisation,
        enabled: 1,
        created_at: 0,
      } as const
      const rows = Array.from({ length: 99 }, () => ({ ...of, id: newId('alr_', 0) }))
      await fixture.hand.db.insertInto('organisation_alerts').values(rows).execute()
      await create({}, owner)
      await rejects('conflict', create({}, owner))
      const [{ id }] = (await all(owner)) as [OrgAlert]
      await owner.account.orgAlerts.delete({ id })
      const tried = await Promise.allSettled(Array.from({ length: 4 }, () => create({}, owner)))
      assert.equal(tried.filter(({ status }) => status === 'fulfilled').length, 1)
    })

    test('pages continue after the last alert, while alerts are created and deleted', async () => {
      const owner = await fixture.owner()
      const { orgAlerts } = owner.account
      const made: string[] = []
      for (let i = 0; i < 7; i++) made.push((await create({ notify: [owner.id] }, owner)).id)
      made.sort().reverse()
      const first = await orgAlerts.list({ limit: 3 })
      assert.deepEqual(
        first.items.map(({ id, notify }) => [id, ...notify]),
        made.slice(0, 3).map((id) => [id, owner.id]),
      )
      await create({}, owner)
      for (const id of made.slice(2, 4)) await orgAlerts.delete({ id })
      const second = await orgAlerts.list({ limit: 3, cursor: first.next_cursor! })
      assert.deepEqual(
        second.items.map(({ id }) => id),
        made.slice(4),
      )
      assert.equal(second.next_cursor, null)
    })

    for (const name of ['<img src=x onerror=alert(1)>', '"; drop table accounts; --', '日本 🏠'])
      test(`stores as text: ${name}`, async () => {
        const made = await create({ name })
        assert.equal(made.name, name)
        await ada.account.orgAlerts.delete({ id: made.id })
      })

    for (const [what, of, path] of [
      ['no name', { name: undefined }, 'name'],
      ['nothing', { name: '' }, 'name'],
      ['101 characters', { name: 'a'.repeat(101) }, 'name'],
      ['1 MiB', { name: MIB }, 'name'],
      ['two lines', { name: 'a\nb' }, 'name'],
      ['a direction override', { name: 'a\u202eb' }, 'name'],
      ['a lone surrogate', { name: 'a\ud800' }, 'name'],
      ['alerts on alerts', { event: 'alert_fired' }, 'event'],
      ['an unknown event', { event: 'rain' }, 'event'],
      ['an event of 1 MiB', { event: MIB }, 'event'],
      ['a threshold of 0', { threshold: 0 }, 'threshold'],
      ['a negative threshold', { threshold: -1 }, 'threshold'],
      ['a threshold of one half', { threshold: 1.5 }, 'threshold'],
      ['a threshold that is too large', { threshold: 1_000_001 }, 'threshold'],
      ['a text for a number', { threshold: '5' }, 'threshold'],
      ['a window of 0', { window_minutes: 0 }, 'window_minutes'],
      ['a window that is too long', { window_minutes: 43_201 }, 'window_minutes'],
      ['an invalid switch', { enabled: 'yes' }, 'enabled'],
      ['a recipient by name', { notify: ['Ada'] }, 'notify.0'],
      ['the time of the last firing', { last_fired_at: null }, 'last_fired_at'],
    ] as const)
      test(`rejects ${what}`, async () => {
        const before = await all(ada)
        await isInvalid(path, '.', create(of as Partial<Body>))
        // A change may omit the name.
        if (what !== 'no name')
          await isInvalid(
            path,
            '.',
            ada.account.orgAlerts.update({ id: before[0]!.id, body: of as object }),
          )
        assert.deepEqual(await all(ada), before)
      })

    for (const [query, code] of [
      [{ cursor: 'x' }, 'bad_request'],
      [{ cursor: Buffer.from(newId('grp_', 0)).toString('base64url') }, 'bad_request'],
      [{ cursor: 'x'.repeat(201) }, 'validation_failed'],
      [{ limit: -1 }, 'validation_failed'],
      [{ limit: 201 }, 'validation_failed'],
    ] as const)
      test(`list rejects ${JSON.stringify(query).slice(0, 40)}`, async () => {
        await rejects(code, ada.account.orgAlerts.list(query))
      })
  })
}
