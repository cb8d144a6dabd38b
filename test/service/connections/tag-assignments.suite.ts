/**
 * The tags of connections: visible to the account alone, wherever it lists connections. For every
 * engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { every } from '../../../src/api/cursor.ts'
import { connected, make, joinMember } from './connecting.ts'
import type { Engine } from '../engines.ts'
import { connect, enrol, opening, type Person } from '../person.ts'
import { openSubject, type LocalSubject } from '../subject.ts'
import { rejects } from '../../rejects.ts'

export function tagAssignmentsSuite(engine: string, { newPlace }: Engine): void {
  let subject: LocalSubject
  let ada: Person
  let names = 0
  const create = (name = `tag ${(names += 1)}`, by = ada) =>
    by.account.tags.create({ body: { name } })
  const all = ({ account }: Person) => every((query) => account.tags.list(query))
  const read = async ({ account }: Person, id: string) => account.connections.read({ id })

  describe(`tags of connections: ${engine}`, () => {
    before(async () => {
      subject = await openSubject(await newPlace())
      ada = await enrol(subject.server, 'Ada')
    })
    after(() => subject.close())

    const CASES: [state: 'assigned' | 'unassigned', action: 'assign' | 'unassign', ok: boolean][] =
      [
        ['unassigned', 'assign', true],
        ['assigned', 'assign', true],
        ['assigned', 'unassign', true],
        ['unassigned', 'unassign', false],
      ]
    for (const [state, action, ok] of CASES)
      test(`${action} while ${state}: ${ok ? 'done' : 'not found'}`, async () => {
        const { account } = ada
        const [{ id }, { id: cid }] = [await create(), await connect(ada)]
        if (state === 'assigned') await account.tags.assign({ id, cid })
        const before = await read(ada, cid)
        subject.clock.ms += 1000
        const done = account.tags[action]({ id, cid })
        if (!ok) await rejects('not_found', done)
        else {
          const answer = await done
          const now = await read(ada, cid)
          assert.deepEqual(now.tag_ids, action === 'assign' ? [id] : [])
          if (action === 'assign') assert.deepEqual(answer, now)
        }
        const after = await read(ada, cid)
        const isChanged = ok && (state === 'assigned') === (action === 'unassign')
        if (isChanged) assert(after.updated_at > before.updated_at)
        else assert.deepEqual(after, before)
      })

    test('appear wherever the account reads the connection', async () => {
      const { connections, tags } = ada.account
      const [one, two] = [await create(), await create()]
      const body = await opening(ada, 'Bank')
      const { id } = await ada.account.rosters.open({ body })
      for (const tag of [two, one]) await tags.assign({ id: tag.id, cid: id })
      const expected = [one.id, two.id].sort()
      const seen = [
        await read(ada, id),
        (await every((query) => connections.list(query))).find((other) => other.id === id)!,
        await connections.update({ id, body: { name: 'The bank' } }),
        await connections.favorite({ id, body: { favorite: true } }),
        await ada.account.rosters.open({ body }),
      ]
      for (const { tag_ids } of seen) assert.deepEqual(tag_ids, expected)
      await tags.delete({ id: one.id })
      assert.deepEqual((await read(ada, id)).tag_ids, [two.id])
    })

    test('are separate for each member, and are deleted when a member leaves', async () => {
      const { id, people } = await connected(subject.server, ['Ada', 'Bob'])
      const [owner, bob] = people
      const [hers, his] = [await create('Club', owner), await create('Club', bob)]
      await owner.account.tags.assign({ id: hers.id, cid: id })
      assert.deepEqual((await read(bob, id)).tag_ids, [])
      await bob.account.tags.assign({ id: his.id, cid: id })
      assert.deepEqual((await read(owner, id)).tag_ids, [hers.id])
      assert.deepEqual((await read(bob, id)).tag_ids, [his.id])

      await make(bob, id, { op: 'leave' })
      assert.equal((await all(bob))[0]!.connection_count, 0)
      await rejects('not_found', bob.account.tags.unassign({ id: his.id, cid: id }))
      await make(owner, id, { op: 'rotate' })
      await joinMember(owner, id, bob)
      assert.deepEqual((await read(bob, id)).tag_ids, [])
      assert.deepEqual((await read(owner, id)).tag_ids, [hers.id])
      assert.equal((await all(owner))[0]!.connection_count, 1)
    })

    test('ended connections are not counted', async () => {
      const [{ id }, { id: cid }] = [await create(), await connect(ada)]
      await ada.account.tags.assign({ id, cid })
      await ada.account.connections.delete({ id: cid })
      assert.equal((await all(ada)).find((one) => one.id === id)!.connection_count, 0)
      await rejects('not_found', ada.account.tags.assign({ id, cid }))
    })

    test('of tagging and ending at once each may succeed, and neither fails unexpectedly', async () => {
      const { id } = await create()
      for (let i = 0; i < 5; i++) {
        const { id: cid } = await connect(ada)
        const [tagged, ended] = await Promise.allSettled([
          ada.account.tags.assign({ id, cid }),
          ada.account.connections.delete({ id: cid }),
        ])
        assert.equal(ended.status, 'fulfilled')
        if (tagged.status === 'rejected')
          await rejects('not_found', Promise.reject(tagged.reason as Error))
      }
      assert.equal((await all(ada)).find((one) => one.id === id)!.connection_count, 0)
    })
  })
}
