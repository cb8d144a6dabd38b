/** Tags, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { every } from '../../../src/api/cursor.ts'
import type { Tag } from '../../../src/api/rest/tags.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { Engine } from '../engines.ts'
import { connect, enrol, type Person } from '../person.ts'
import { openSubject, type LocalSubject } from '../subject.ts'
import { rejects } from '../../rejects.ts'

const NOBODYS = newId('tag_', 0)
const MIB = 'x'.repeat(1024 * 1024)

export function tagsSuite(engine: string, { newPlace }: Engine): void {
  let subject: LocalSubject
  let ada: Person
  let names = 0
  const newName = () => `tag ${(names += 1)}`
  const create = (name = newName(), by = ada) => by.account.tags.create({ body: { name } })
  const all = ({ account }: Person) => every((query) => account.tags.list(query))
  const read = async ({ account }: Person, id: string) => account.connections.read({ id })

  describe(`tags: ${engine}`, () => {
    before(async () => {
      subject = await openSubject(await newPlace())
      ada = await enrol(subject.server, 'Ada')
    })
    after(() => subject.close())

    test('are created, changed in part, counted and deleted', async () => {
      const bob = await enrol(subject.server)
      const { tags } = bob.account
      const made = await tags.create({ body: { name: 'Work', color: '#00ff7f' } })
      const created_at = new Date(subject.clock.ms).toISOString()
      let expected: Tag = {
        id: made.id,
        name: 'Work',
        color: '#00ff7f',
        connection_count: 0,
        created_at,
      }
      assert.deepEqual(made, expected)
      for (const body of [
        {},
        { name: 'Office' },
        { color: '#123456' },
        { color: null },
        { name: 'OFFICE' },
        { name: 'Home', color: '#abcdef' },
      ]) {
        expected = { ...expected, ...body }
        assert.deepEqual(await tags.update({ id: made.id, body }), expected)
        assert.deepEqual(await all(bob), [expected])
      }
      for (const count of [1, 2]) {
        const { id } = await connect(bob)
        await tags.assign({ id: made.id, cid: id })
        assert.deepEqual(await all(bob), [{ ...expected, connection_count: count }])
      }
      await tags.delete({ id: made.id })
      await rejects('not_found', tags.delete({ id: made.id }))
      await rejects('not_found', tags.update({ id: made.id, body: {} }))
      assert.deepEqual(await all(bob), [])
    })

    describe('a name belongs to one tag of an account', () => {
      const own = 'Zoë & Family'
      let [first, second] = [] as Tag[]
      before(async () => {
        first = await create(own)
        second = await create()
      })
      for (const same of [own, 'ZOË & family', ` ${own} `, own.normalize('NFD')])
        test(`${JSON.stringify(same)} counts as the same name`, async () => {
          await rejects('conflict', create(same))
          await rejects(
            'conflict',
            ada.account.tags.update({ id: second!.id, body: { name: same, color: '#000000' } }),
          )
          assert.equal((await all(ada)).find(({ id }) => id === second!.id)!.color, null)
          const stored = await ada.account.tags.update({ id: first!.id, body: { name: same } })
          assert.equal(stored.name, same)
        })

      test('another account can use it, and so can a later tag', async () => {
        const bob = await enrol(subject.server)
        const { id } = await create(own, bob)
        await bob.account.tags.delete({ id })
        await create(own, bob)
      })

      test('of several concurrent requests for it, one succeeds', async () => {
        const { id: account, device } = ada
        const here = subject.service.as({ account, device, session: '', token: null })
        for (let round = 0; round < 5; round++) {
          const body = { name: newName() }
          const tried = await Promise.allSettled(
            Array.from({ length: 8 }, () => here.tags.create({ body })),
          )
          assert.equal(tried.filter(({ status }) => status === 'fulfilled').length, 1)
        }
      })
    })

    test('an account has 200 at most', async () => {
      const bob = await enrol(subject.server)
      const made: Tag[] = []
      for (let i = 0; i < 200; i++) made.push(await create(`t${i}`, bob))
      await rejects('conflict', create('one more', bob))
      await bob.account.tags.delete({ id: made[7]!.id })
      await create('one more', bob)
    })

    test('pages continue after the last tag, while tags are created and deleted', async () => {
      const bob = await enrol(subject.server)
      const made: string[] = []
      for (let i = 0; i < 7; i++) made.push((await create(newName(), bob)).id)
      made.sort().reverse()
      const { tags } = bob.account
      const first = await tags.list({ limit: 3 })
      assert.deepEqual(
        first.items.map(({ id }) => id),
        made.slice(0, 3),
      )
      subject.clock.ms += 1000
      await create(newName(), bob)
      // The tag that the cursor names, and the next.
      for (const id of made.slice(2, 4)) await tags.delete({ id })
      const second = await tags.list({ limit: 3, cursor: first.next_cursor! })
      assert.deepEqual(
        second.items.map(({ id }) => id),
        made.slice(4),
      )
      assert.equal(second.next_cursor, null)
    })

    test('ids of another account, unknown and malformed ids are not found', async () => {
      const eve = await enrol(subject.server)
      const [{ id }, { id: cid }] = [await create(), await connect(ada)]
      const [{ id: evil }, { id: lair }] = [await create('Evil', eve), await connect(eve)]
      await ada.account.tags.assign({ id, cid })
      const { tags } = eve.account
      for (const other of [id, NOBODYS, 'x', evil.toUpperCase(), cid]) {
        await rejects('not_found', tags.update({ id: other, body: { name: 'Mine' } }))
        await rejects('not_found', tags.delete({ id: other }))
        await rejects('not_found', tags.assign({ id: other, cid: lair }))
        await rejects('not_found', tags.unassign({ id: other, cid: lair }))
      }
      for (const other of [cid, newId('con_', 0), 'x', id]) {
        await rejects('not_found', tags.assign({ id: evil, cid: other }))
        await rejects('not_found', tags.unassign({ id: evil, cid: other }))
      }
      assert.deepEqual(
        (await all(eve)).map((one) => one.id),
        [evil],
      )
      assert.deepEqual((await read(ada, cid)).tag_ids, [id])
    })

    test('work for a caller without a device, such as a machine account', async () => {
      const who = { account: ada.id, device: null, session: null, token: newId('tok_', 0) }
      const account = subject.service.as(who)
      const [{ id }, { id: cid }] = [await create(), await connect(ada)]
      assert.deepEqual((await account.tags.assign({ id, cid })).tag_ids, [id])
    })

    for (const name of ['<img src=x onerror=alert(1)>', '"; drop table tags; --', '%00', '日本 🏠'])
      test(`stores as text: ${name}`, async () => {
        const made = await create(name)
        assert.equal(made.name, name)
        assert((await all(ada)).some((one) => one.name === name))
      })

    for (const [what, body] of [
      ['no name', {}],
      ['nothing', { name: '' }],
      ['spaces', { name: '  ' }],
      ['no text', { name: null }],
      ['61 characters', { name: 'a'.repeat(61) }],
      ['1 MiB', { name: MIB }],
      ['two lines', { name: 'a\nb' }],
      ['a direction override', { name: 'a\u202eb' }],
      ['a lone surrogate', { name: 'a\ud800' }],
      ['a colour by name', { name: 'a', color: 'red' }],
      ['a colour in capitals', { name: 'a', color: '#ABCDEF' }],
      ['a style', { name: 'a', color: '#000000;x:y' }],
      ['an unknown field', { name: 'a', connection_count: 7 }],
    ] as const)
      test(`rejects ${what}`, async () => {
        const before = await all(ada)
        const { tags } = ada.account
        await rejects('validation_failed', tags.create({ body: body as { name: string } }))
        // A change may leave the name out.
        if ('name' in body)
          await rejects(
            'validation_failed',
            tags.update({ id: before[0]!.id, body: body as object }),
          )
        assert.deepEqual(await all(ada), before)
      })

    for (const [query, code] of [
      [{ cursor: 'x' }, 'bad_request'],
      [{ cursor: Buffer.from(newId('con_', 0)).toString('base64url') }, 'bad_request'],
      [{ cursor: 'x'.repeat(201) }, 'validation_failed'],
      [{ limit: -1 }, 'validation_failed'],
      [{ limit: 0 }, 'validation_failed'],
      [{ limit: 201 }, 'validation_failed'],
    ] as const)
      test(`list rejects ${JSON.stringify(query).slice(0, 40)}`, async () => {
        await rejects(code, ada.account.tags.list(query))
      })
  })
}
