/** Groups of an organisation, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { every } from '../../../src/api/cursor.ts'
import type { Account } from '../../../src/api/port.ts'
import type { OrgGroup } from '../../../src/api/rest/org.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { isInvalid } from '../../account/subject.ts'
import type { Engine } from '../engines.ts'
import { type OrgFixture, openOrgFixture } from './org-subject.ts'
import { type Actions, testRights } from './org-rights.ts'
import type { Person } from '../person.ts'
import { rejects } from '../../rejects.ts'

const NOBODYS = newId('grp_', 0)
const STRANGER = newId('acc_', 0)
const MIB = 'x'.repeat(1024 * 1024)

type Caller = { readonly account: Account }
type Owner = Awaited<ReturnType<OrgFixture['owner']>>

export function orgGroupsSuite(engineName: string, engine: Engine): void {
  let fixture: OrgFixture
  let ada: Owner
  let bob: Person
  let names = 0
  const newName = () => `group ${(names += 1)}`
  const create = (name = newName(), by: Caller = ada) =>
    by.account.orgGroups.create({ body: { name } })
  const all = ({ account }: Caller) => every((query) => account.orgGroups.list(query))
  const add = (id: string, members: readonly { id: string }[], by: Caller = ada) =>
    by.account.orgGroups.addMembers({ id, body: { member_ids: members.map((one) => one.id) } })
  const remove = (id: string, members: readonly { id: string }[], by: Caller = ada) =>
    by.account.orgGroups.removeMembers({ id, body: { member_ids: members.map((one) => one.id) } })
  /** Returns the recorded group activities of the organisation, oldest first. */
  async function written({ organisation }: Owner) {
    const rows = await fixture.hand.db
      .selectFrom('organisation_activities')
      .select(['event', 'actor_id', 'target', 'data'])
      .where('organisation_id', '=', organisation)
      .where('event', 'like', 'group%')
      .orderBy('id')
      .execute()
    return rows.map(({ data, ...row }) => ({ ...row, data: JSON.parse(data) as object }))
  }

  describe(`groups: ${engineName}`, () => {
    before(async () => {
      fixture = await openOrgFixture(engine)
      ada = await fixture.owner()
      bob = await fixture.member(ada.organisation)
    })
    after(() => fixture.close())

    test('are created, changed in part, filled and deleted, and each change is recorded', async () => {
      const owner = await fixture.owner()
      const { orgGroups } = owner.account
      const people = [
        await fixture.member(owner.organisation),
        await fixture.member(owner.organisation, { state: 'suspended' }),
        await fixture.machine(owner, owner.organisation),
      ]
      const made = await orgGroups.create({ body: { name: 'Sales', description: 'They\nsell.' } })
      const created_at = new Date(fixture.subject.clock.ms).toISOString()
      let expected: OrgGroup = {
        id: made.id,
        name: 'Sales',
        description: 'They\nsell.',
        member_count: 0,
        created_at,
      }
      assert.deepEqual(made, expected)
      for (const body of [
        {},
        { name: 'Sales' },
        { name: 'SALES' },
        { description: null },
        { name: 'Trade', description: 'x' },
      ]) {
        expected = { ...expected, ...body }
        assert.deepEqual(await orgGroups.update({ id: made.id, body }), expected)
        assert.deepEqual(await all(owner), [expected])
      }
      const moves: [move: typeof add, whom: readonly { id: string }[], count: number][] = [
        [add, people.slice(0, 1), 1],
        [add, people.slice(0, 1), 1],
        [add, [...people, ...people], 3],
        [add, people, 3],
        [remove, people.slice(1), 1],
        [remove, people.slice(1), 1],
        [add, [owner], 2],
        [remove, [...people, owner], 0],
        [remove, people, 0],
      ]
      for (const [move, whom, member_count] of moves) {
        expected = { ...expected, member_count }
        assert.deepEqual(await move(made.id, whom, owner), expected)
        assert.deepEqual(await all(owner), [expected])
      }
      await orgGroups.delete({ id: made.id })
      assert.deepEqual(await all(owner), [])
      const of = (event: string, name: string, count?: string) => ({
        event,
        actor_id: owner.id,
        target: made.id,
        data: count === undefined ? { name } : { name, count },
      })
      assert.deepEqual(await written(owner), [
        of('group_created', 'Sales'),
        of('group_updated', 'SALES'),
        of('group_updated', 'SALES'),
        of('group_updated', 'Trade'),
        of('group_members_added', 'Trade', '1'),
        of('group_members_added', 'Trade', '2'),
        of('group_members_removed', 'Trade', '2'),
        of('group_members_added', 'Trade', '1'),
        of('group_members_removed', 'Trade', '2'),
        of('group_deleted', 'Trade'),
      ])
    })

    const ACTIONS: Actions = {
      list: (account) => account.orgGroups.list({}),
      create: (account) => account.orgGroups.create({ body: { name: newName() } }),
      update: (account, id) => account.orgGroups.update({ id, body: { name: newName() } }),
      'add members': (account, id) =>
        account.orgGroups.addMembers({ id, body: { member_ids: [ada.id] } }),
      'remove members': (account, id) =>
        account.orgGroups.removeMembers({ id, body: { member_ids: [ada.id] } }),
      delete: (account, id) => account.orgGroups.delete({ id }),
    }
    const ofOne = Object.entries(ACTIONS).filter(([action]) => !/^(list|create)$/.test(action))

    testRights({ place: () => ({ fixture, owner: ada }), create, actions: ACTIONS })

    for (const [action, act] of ofOne)
      test(`${action}: unknown, deleted and malformed ids are not found`, async () => {
        const gone = await create()
        await ada.account.orgGroups.delete({ id: gone.id })
        for (const id of [gone.id, NOBODYS, 'x', gone.id.toUpperCase(), ada.id, `${gone.id}\0`])
          await rejects('not_found', act(ada.account, id))
      })

    describe('a name belongs to one group of an organisation', () => {
      const own = 'Zoë & Family'
      let [first, second] = [] as OrgGroup[]
      before(async () => {
        first = await create(own)
        second = await create()
      })
      for (const same of [own, 'ZOË & family', ` ${own} `, own.normalize('NFD')])
        test(`${JSON.stringify(same)} counts as the same name`, async () => {
          await rejects('conflict', create(same))
          const body = { name: same, description: 'new' }
          await rejects('conflict', ada.account.orgGroups.update({ id: second!.id, body }))
          const stored = (await all(ada)).find(({ id }) => id === second!.id)
          assert.deepEqual(stored, second)
          const own = await ada.account.orgGroups.update({ id: first!.id, body: { name: same } })
          assert.equal(own.name, same)
        })

      test('another organisation can use it, and so can a later group', async () => {
        const other = await fixture.owner()
        const { id } = await create(own, other)
        await other.account.orgGroups.delete({ id })
        await create(own, other)
      })

      test('of several concurrent requests for it, one succeeds', async () => {
        for (let round = 0; round < 3; round++) {
          const name = newName()
          const tried = await Promise.allSettled(Array.from({ length: 8 }, () => create(name)))
          assert.equal(tried.filter(({ status }) => status === 'fulfilled').length, 1)
        }
      })
    })

    test('an organisation has 1,000 at most', async () => {
      const owner = await fixture.owner()
      const rows = Array.from({ length: 999 }, (_, i) => ({
        id: newId('grp_', fixture.subject.clock.ms),
        organisation_id: owner.organisation,
        name: `g${i}`,
        created_at: 0,
      }))
      await fixture.hand.db.insertInto('organisation_groups').values(rows).execute()
      const last = await create('last', owner)
      await rejects('conflict', create('one more', owner))
      await owner.account.orgGroups.delete({ id: last.id })
      await create('one more', owner)
      assert.equal((await all(owner)).length, 1000)
    })

    test('an id that is no member is rejected with its position, and nothing is stored', async () => {
      const { id } = await create()
      await add(id, [ada])
      const other = await fixture.owner()
      const invited = newId('mem_', 0)
      for (const stranger of [STRANGER, other.id, invited, 'x', '', 'acc_\0', bob.id.toUpperCase()])
        for (const move of [add, remove]) {
          const members = [{ id: ada.id }, { id: bob.id }, { id: stranger }]
          const expected = stranger === invited ? 'names an invitation' : 'No member'
          await isInvalid('member_ids.2', expected, move(id, members))
          const group = (await all(ada)).find((one) => one.id === id)
          assert.equal(group?.member_count, 1)
        }
      await assert.rejects(add(id, [{ id: 'x' }, bob, { id: 'y' }]), (error: Error) => {
        const { details } = error as Error & { details: { issues: { path: string }[] } }
        assert.deepEqual(
          details.issues.map(({ path }) => path),
          ['member_ids.0', 'member_ids.2'],
        )
        return true
      })
      const many = Array.from({ length: 501 }, () => bob)
      for (const wrong of [[], many, [{ id: MIB }]])
        await rejects('validation_failed', add(id, wrong))
      assert.equal((await add(id, many.slice(1))).member_count, 2)
    })

    test('leaving the organisation leaves all its groups', async () => {
      const { id } = await create()
      const [gone, stays] = [
        await fixture.member(ada.organisation),
        await fixture.member(ada.organisation),
      ]
      await add(id, [gone, stays])
      await fixture.setState(stays.id, 'suspended')
      await fixture.hand.db.deleteFrom('accounts').where('id', '=', gone.id).execute()
      assert.equal((await all(ada)).find((one) => one.id === id)?.member_count, 1)
    })

    test('concurrent additions to one group: each member is in it once, and counted once', async () => {
      const { id } = await create()
      const people = await Promise.all(
        Array.from({ length: 6 }, () => fixture.member(ada.organisation)),
      )
      await Promise.all([...people, ...people].map((one) => add(id, [one])))
      assert.equal((await all(ada)).find((one) => one.id === id)?.member_count, 6)
      const of = (await written(ada)).filter(({ target }) => target === id)
      assert.equal(of.filter(({ event }) => event === 'group_members_added').length, 6)
    })

    test('pages continue after the last group, while groups are created and deleted', async () => {
      const owner = await fixture.owner()
      const { orgGroups } = owner.account
      const made: string[] = []
      for (let i = 0; i < 7; i++) made.push((await create(newName(), owner)).id)
      made.sort().reverse()
      const first = await orgGroups.list({ limit: 3 })
      assert.deepEqual(
        first.items.map(({ id }) => id),
        made.slice(0, 3),
      )
      await create(newName(), owner)
      // The group that the cursor names, and the next.
      for (const id of made.slice(2, 4)) await orgGroups.delete({ id })
      const second = await orgGroups.list({ limit: 3, cursor: first.next_cursor! })
      assert.deepEqual(
        second.items.map(({ id }) => id),
        made.slice(4),
      )
      assert.equal(second.next_cursor, null)
      const elsewhere = await all(await fixture.owner())
      assert.deepEqual(elsewhere, [])
    })

    for (const name of ['<img src=x onerror=alert(1)>', '"; drop table accounts; --', '日本 🏠'])
      test(`stores as text: ${name}`, async () => {
        const made = await ada.account.orgGroups.create({ body: { name, description: name } })
        assert.deepEqual([made.name, made.description], [name, name])
        await ada.account.orgGroups.delete({ id: made.id })
      })

    for (const [what, body] of [
      ['no name', {}],
      ['nothing', { name: '' }],
      ['spaces', { name: '  ' }],
      ['no text', { name: null }],
      ['101 characters', { name: 'a'.repeat(101) }],
      ['1 MiB', { name: MIB }],
      ['two lines', { name: 'a\nb' }],
      ['a direction override', { name: 'a\u202eb' }],
      ['a lone surrogate', { name: 'a\ud800' }],
      ['an empty description', { name: 'a', description: '' }],
      ['a description of 1 MiB', { name: 'a', description: MIB }],
      ['a description with a direction override', { name: 'a', description: 'a\u2066b' }],
      ['an unknown field', { name: 'a', member_count: 7 }],
    ] as const)
      test(`rejects ${what}`, async () => {
        const before = await all(ada)
        const { orgGroups } = ada.account
        await rejects('validation_failed', orgGroups.create({ body: body as { name: string } }))
        // A change may omit the name.
        if ('name' in body)
          await rejects(
            'validation_failed',
            orgGroups.update({ id: before[0]!.id, body: body as object }),
          )
        assert.deepEqual(await all(ada), before)
      })

    for (const [query, code] of [
      [{ cursor: 'x' }, 'bad_request'],
      [{ cursor: Buffer.from(newId('alr_', 0)).toString('base64url') }, 'bad_request'],
      [{ cursor: 'x'.repeat(201) }, 'validation_failed'],
      [{ limit: -1 }, 'validation_failed'],
      [{ limit: 0 }, 'validation_failed'],
      [{ limit: 201 }, 'validation_failed'],
    ] as const)
      test(`list rejects ${JSON.stringify(query).slice(0, 40)}`, async () => {
        await rejects(code, ada.account.orgGroups.list(query))
      })
  })
}
