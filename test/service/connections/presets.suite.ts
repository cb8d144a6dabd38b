/** Presets and the default preset, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { every } from '../../../src/api/cursor.ts'
import type { Preset } from '../../../src/api/rest/presets.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { openClubs, type Clubs } from './connections-subject.ts'
import type { Engine } from '../engines.ts'
import type { Person } from '../person.ts'
import { create, newcomer, newTag, NOBODYS, open, type Wanted } from './presets-subject.ts'
import { rejects } from '../../rejects.ts'

const MIB = 'x'.repeat(1024 * 1024)

export function presetsSuite(engine: string, { newPlace }: Engine): void {
  let clubs: Clubs
  let { ada, bob, time } = {} as Clubs
  const all = ({ account }: Person) => every((query) => account.presets.list(query))
  const defaults = async (person: Person) =>
    (await all(person)).filter(({ is_default }) => is_default).map(({ id }) => id)

  describe(`presets: ${engine}`, () => {
    before(async () => {
      clubs = await openClubs(newPlace)
      ;({ ada, bob, time } = clubs)
    })
    after(() => clubs.close())

    test('are created, changed in part, cleared and deleted', async () => {
      const eve = await newcomer(clubs)
      const { presets } = eve.account
      const tags = [await newTag(eve), await newTag(eve)].sort()
      const made = await create(eve)
      let expected: Preset = {
        id: made.id,
        name: 'Family',
        tag_ids: [],
        favorite: false,
        invite_message: null,
        invitation_expires_in: null,
        is_default: false,
        created_at: time(),
      }
      assert.deepEqual(made, expected)
      for (const body of [
        {},
        { name: 'Friends' },
        { tag_ids: tags },
        { favorite: true, invite_message: 'Hello,\nit is me.' },
        { invitation_expires_in: 3600 },
        { tag_ids: [tags[1]!] },
        { invite_message: null, invitation_expires_in: 2_592_000 },
        { tag_ids: [], favorite: false, invitation_expires_in: null },
      ]) {
        expected = { ...expected, ...body }
        assert.deepEqual(await presets.update({ id: made.id, body }), expected)
        assert.deepEqual(await all(eve), [expected])
      }
      const full = {
        name: 'Family',
        tag_ids: [tags[1]!, tags[0]!, tags[1]!],
        favorite: true,
        invite_message: 'Hello',
        invitation_expires_in: 7200,
      }
      const other = await presets.create({ body: full })
      assert.deepEqual({ ...other, ...full, tag_ids: tags }, other)
      await eve.account.tags.delete({ id: tags[0]! })
      assert.deepEqual((await all(eve)).find(({ id }) => id === other.id)!.tag_ids, [tags[1]])
      for (const { id } of [made, other]) {
        await presets.delete({ id })
        await rejects('not_found', presets.delete({ id }))
        await rejects('not_found', presets.update({ id, body: {} }))
        await rejects('not_found', presets.setDefault({ id }))
      }
      assert.deepEqual(await all(eve), [])
    })

    test('unknown tags and tags of another account are rejected with their position, and nothing is stored', async () => {
      const [own, foreign] = [await newTag(ada), await newTag(bob)]
      const preset = await create(ada, { tag_ids: [own] })
      const before = await all(ada)
      for (const strange of [foreign, newId('tag_', 0)])
        for (const call of [
          () => create(ada, { tag_ids: [own, strange] }),
          () =>
            ada.account.presets.update({
              id: preset.id,
              body: { name: 'x', tag_ids: [own, strange] },
            }),
        ]) {
          const { details } = await rejects('validation_failed', call())
          assert.deepEqual(
            details.issues?.map(({ path }) => path),
            ['tag_ids.1'],
          )
        }
      assert.deepEqual(await all(ada), before)
    })

    describe('the default', () => {
      const CASES: [
        now: 'none' | 'this' | 'another',
        action: 'setDefault' | 'clearDefault' | 'delete',
        then: 'none' | 'this' | 'another',
      ][] = [
        ['none', 'setDefault', 'this'],
        ['this', 'setDefault', 'this'],
        ['another', 'setDefault', 'this'],
        ['none', 'clearDefault', 'none'],
        ['this', 'clearDefault', 'none'],
        ['another', 'clearDefault', 'none'],
        ['none', 'delete', 'none'],
        ['this', 'delete', 'none'],
        ['another', 'delete', 'another'],
      ]
      for (const [now, action, then] of CASES)
        test(`default: ${now}; ${action}: default: ${then}`, async () => {
          const eve = await newcomer(clubs)
          const { presets } = eve.account
          const ids = {
            this: [(await create(eve)).id],
            another: [(await create(eve)).id],
            none: [],
          }
          const [id] = ids.this
          for (const one of ids[now]) await presets.setDefault({ id: one })
          if (action === 'setDefault') {
            const preset = await presets.setDefault({ id: id! })
            assert.deepEqual([preset.id, preset.is_default], [id, true])
          } else if (action === 'clearDefault') await presets.clearDefault({})
          else await presets.delete({ id: id! })
          assert.deepEqual(await defaults(eve), ids[then])
        })

      test('of several concurrent calls, one sets the default', async () => {
        const eve = await newcomer(clubs)
        const made = [await create(eve), await create(eve), await create(eve)]
        await Promise.all(made.map(({ id }) => eve.account.presets.setDefault({ id })))
        assert.equal((await defaults(eve)).length, 1)
      })
    })

    test('ids of another account, unknown and malformed ids are not found', async () => {
      const eve = await newcomer(clubs)
      const { id } = await create(ada)
      await ada.account.presets.setDefault({ id })
      const { presets } = eve.account
      for (const other of [id, NOBODYS, 'x', 'default', id.toUpperCase()]) {
        await rejects('not_found', presets.update({ id: other, body: { name: 'Mine' } }))
        await rejects('not_found', presets.delete({ id: other }))
        await rejects('not_found', presets.setDefault({ id: other }))
      }
      await presets.clearDefault({})
      assert.deepEqual(await all(eve), [])
      assert.deepEqual(await defaults(ada), [id])
      assert.equal((await open(eve)).preset_id, null)
      await ada.account.presets.clearDefault({})
    })

    test('an account has 100 at most', async () => {
      const eve = await newcomer(clubs)
      const made: Preset[] = []
      for (let i = 0; i < 100; i++) made.push(await create(eve))
      await rejects('conflict', create(eve))
      await eve.account.presets.delete({ id: made[7]!.id })
      await create(eve)
      const { items, next_cursor } = await eve.account.presets.list({ limit: 99 })
      const rest = await eve.account.presets.list({ limit: 99, cursor: next_cursor! })
      const ids = [...items, ...rest.items].map(({ id }) => id)
      assert.deepEqual([new Set(ids).size, rest.items.length, rest.next_cursor], [100, 1, null])
      assert.deepEqual(ids, [...ids].sort().reverse())
    })

    for (const text of ['<script>alert(1)</script>', "'); drop table presets; --", '日本 🏠\ttab'])
      test(`stores as text: ${text}`, async () => {
        const made = await create(ada, { name: text.replace('\t', ' '), invite_message: text })
        const stored = (await all(ada)).find(({ id }) => id === made.id)!
        assert.equal(stored.invite_message, text)
        await ada.account.presets.delete({ id: made.id })
      })

    for (const [what, body] of [
      ['an empty name', { name: '' }],
      ['1 MiB as a name', { name: MIB }],
      ['a name with a direction override', { name: 'a\u202eb' }],
      ['no name', { name: null }],
      ['1 MiB as a message', { invite_message: MIB }],
      ['1001 characters', { invite_message: 'a'.repeat(1001) }],
      ['an empty message', { invite_message: '' }],
      ['a message with a direction override', { invite_message: 'a\u2067b' }],
      ['a message with a control character', { invite_message: 'a\u001b[2J' }],
      ['an expiry of less than an hour', { invitation_expires_in: 3599 }],
      ['an expiry of more than 30 days', { invitation_expires_in: 2_592_001 }],
      ['a negative expiry', { invitation_expires_in: -1 }],
      ['an expiry of half a second', { invitation_expires_in: 3600.5 }],
      ['a malformed tag id', { tag_ids: ['x'] }],
      ['no list of tags', { tag_ids: null }],
      ['51 tags', { tag_ids: Array.from({ length: 51 }, () => newId('tag_', 0)) }],
      ['is_default in the body', { is_default: true }],
    ] as const)
      test(`rejects ${what}`, async () => {
        const { id } = await create(ada)
        const before = await all(ada)
        await rejects('validation_failed', create(ada, body as Partial<Wanted>))
        const update = ada.account.presets.update({ id, body: body as object })
        await rejects('validation_failed', update)
        assert.deepEqual(await all(ada), before)
        await ada.account.presets.delete({ id })
      })

    for (const [query, code] of [
      [{ cursor: 'x' }, 'bad_request'],
      [{ cursor: Buffer.from(newId('tag_', 0)).toString('base64url') }, 'bad_request'],
      [{ limit: -1 }, 'validation_failed'],
    ] as const)
      test(`list rejects ${JSON.stringify(query).slice(0, 40)}`, async () => {
        await rejects(code, ada.account.presets.list(query))
      })
  })
}
