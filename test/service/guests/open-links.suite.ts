/** Open links: their slugs, states and owners. For every engine. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { newAddress } from '../person.ts'
import { HOSTILE, textOf, type Links } from './open-links-subject.ts'
import { rejects } from '../../rejects.ts'

const newSlug = () => `s-${newId('', Date.now())}`

export function openLinksSuite(links: () => Links): void {
  let { ada, bob, newPerson, newReader, asMachine, page, asked, link, url, hand, time } =
    {} as Links
  before(() => {
    ;({ ada, bob, newPerson, newReader, asMachine, page, asked, link, url, hand, time } = links())
  })

  describe('an open link', () => {
    test('gets the account’s name as title and a readable slug by default', async () => {
      const eve = await newPerson('Ève Ångström')
      const made = await link(eve)
      const expected = {
        id: made.id,
        slug: 'eve-angstrom',
        title: 'Ève Ångström',
        state: 'active',
        url: url('eve-angstrom'),
        reachable: 'network',
        pending_requests: 0,
        preset_id: null,
        created_at: time(),
      }
      assert.deepEqual(made, expected)
      assert.deepEqual((await eve.account.openLinks.list({})).items, [expected])
      const second = await link(eve, { title: HOSTILE, slug: newSlug() })
      assert.equal(second.title, HOSTILE)
      assert.deepEqual((await eve.account.openLinks.list({})).items, [second, made])
    })

    test('is not created while the account is called by its address, which the page would show', async () => {
      const email = newAddress()
      const eve = await newReader(email, email)
      const body = { title: 'Ask me' }
      await rejects('invalid_state', eve.account.openLinks.create({ body }), { state: 'no_name' })
      await eve.account.profile.update({ body: { display_name: 'Eve' } })
      await link(eve, { title: 'Ask me', slug: newSlug() })
    })

    test('with a preset deleted at the same moment is not created, or loses the preset', async () => {
      for (let round = 0; round < 20; round++) {
        const preset = await bob.account.presets.create({ body: { name: `p${round}` } })
        const [made] = await Promise.all([
          link(bob, { preset_id: preset.id, slug: newSlug() }).catch((error: unknown) => error),
          bob.account.presets.delete({ id: preset.id }),
        ])
        if (made instanceof Error) await rejects('not_found', Promise.reject(made))
        else await bob.account.openLinks.delete({ id: (made as { id: string }).id })
      }
    })

    test('accepts only presets of its own account', async () => {
      const preset = async (account_id: string) => {
        const id = newId('pre_', Date.now())
        const values = {
          id,
          account_id,
          name: 'p',
          favorite: 0,
          is_default: 0,
          created_at: 0,
        } as const
        await hand.db.insertInto('presets').values(values).execute()
        return id
      }
      const [own, foreign] = [await preset(ada.id), await preset(bob.id)]
      assert.equal((await link(ada, { preset_id: own })).preset_id, own)
      const before = (await ada.account.openLinks.list({})).items.length
      for (const preset_id of [foreign, newId('pre_', 1)])
        await rejects('not_found', link(ada, { preset_id }))
      assert.equal((await ada.account.openLinks.list({})).items.length, before)
    })

    for (const [what, body] of [
      ['too short', { slug: 'ab' }],
      ['too long', { slug: 'a'.repeat(41) }],
      ['upper case', { slug: 'Ada' }],
      ['a trailing hyphen', { slug: 'ada-' }],
      ['a dot', { slug: 'a.b' }],
      ['another script', { slug: 'ада' }],
      ['a path', { slug: '../x' }],
      ['a mebibyte', { slug: 'a'.repeat(1 << 20) }],
      ['a title of a mebibyte', { title: 'a'.repeat(1 << 20) }],
      ['an empty title', { title: ' ' }],
      ['a title with a direction override', { title: 'a\u202eb' }],
      ['a malformed preset id', { preset_id: 'x' }],
      ['unknown fields', { colour: 'red' }],
    ] as const)
      test(`rejects ${what}`, async () => {
        const eve = await newPerson()
        const input = { body } as Parameters<Account['openLinks']['create']>[0]
        await rejects('validation_failed', eve.account.openLinks.create(input))
        assert.deepEqual((await eve.account.openLinks.list({})).items, [])
      })

    test('a slug belongs to one link, also with concurrent requests', async () => {
      const slug = newSlug()
      const all = await Promise.allSettled([ada, bob].map((one) => link(one, { slug })))
      const refused = all.filter((one) => one.status === 'rejected')
      assert.deepEqual(
        refused.map(({ reason }) => reason.code),
        ['conflict'],
      )
      const other = await link(bob)
      await rejects('conflict', link(bob, { slug }))
      const { slug: theirs } = await link(ada)
      await rejects(
        'conflict',
        bob.account.openLinks.slug({ id: other.id, body: { slug: theirs } }),
      )
    })

    test('an account has fifty at most', async () => {
      const eve = await newPerson('Fifty')
      const made = []
      for (let i = 0; i < 50; i++) made.push(await link(eve))
      assert.equal(new Set(made.map(({ slug }) => slug)).size, 50)
      await rejects('conflict', link(eve))
      await eve.account.openLinks.delete({ id: made[0]!.id })
      await link(eve)
      const seen = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const query = { limit: 7, ...(cursor === undefined ? {} : { cursor }) }
        const found = await eve.account.openLinks.list(query)
        seen.push(...found.items.map(({ id }) => id))
        cursor = found.next_cursor
      }
      assert.equal(seen.length, 50)
      assert.deepEqual(seen, seen.toSorted().toReversed())
    })

    test('the list rejects a foreign cursor and invalid limits', async () => {
      const foreign = Buffer.from(newId('req_', 1)).toString('base64url')
      for (const cursor of [foreign, 'x', '%%'])
        await rejects('bad_request', ada.account.openLinks.list({ cursor }))
      for (const limit of [-1, 0, 201, 1.5])
        await rejects('validation_failed', ada.account.openLinks.list({ limit }))
    })
  })

  describe('operations on an open link', () => {
    const STATES = ['active', 'paused'] as const
    const ACTIONS = [
      ['pause', 'paused'],
      ['resume', 'active'],
    ] as const
    for (const state of STATES)
      for (const [action, after] of ACTIONS)
        test(`${action}, ${state}: ${after === state ? 'unchanged' : after}`, async () => {
          const made = await link(ada)
          if (state === 'paused') await ada.account.openLinks.pause({ id: made.id })
          const done = await ada.account.openLinks[action]({ id: made.id })
          assert.deepEqual(done, { ...made, state: after })
        })

    for (const state of STATES)
      test(`a new slug, ${state}: the old address stops working and can be used again`, async () => {
        const made = await link(ada)
        const { id } = made
        if (state === 'paused') await ada.account.openLinks.pause({ id })
        const slug = newSlug()
        const unchanged = await ada.account.openLinks.slug({ id, body: { slug: made.slug } })
        assert.deepEqual(unchanged, { ...made, state })
        const done = await ada.account.openLinks.slug({ id, body: { slug } })
        assert.deepEqual(done, { ...made, state, slug, url: url(slug) })
        assert.equal((await page(slug)).status ?? 200, 200)
        const [old, never] = [await page(made.slug), await page(newSlug())]
        assert.equal(old.status, 404)
        assert.deepEqual(old, never)
        const taken = await link(bob, { slug: made.slug })
        await rejects('conflict', ada.account.openLinks.slug({ id, body: { slug: taken.slug } }))
        assert.deepEqual((await ada.account.openLinks.pause({ id })).slug, slug)
      })

    for (const state of STATES)
      test(`delete, ${state}: deletes its requests, and later calls are not found`, async () => {
        const { id, slug } = await link(ada)
        const { id: request } = await asked(ada, slug)
        if (state === 'paused') await ada.account.openLinks.pause({ id })
        await ada.account.openLinks.delete({ id })
        const { openLinks, openLinkRequests, openLinkApprovals } = ada.account
        for (const again of [
          () => openLinks.delete({ id }),
          () => openLinks.pause({ id }),
          () => openLinks.resume({ id }),
          () => openLinks.slug({ id, body: { slug } }),
          () => openLinkRequests.decline({ id: request }),
          () => openLinkApprovals.read({ id: request }),
        ])
          await rejects('not_found', again())
        assert.equal((await page(slug)).status, 404)
      })

    test('counts pending requests, not answered ones', async () => {
      const [first, second] = [await link(ada), await link(ada)]
      const requests = [await asked(ada, first.slug), await asked(ada, first.slug)]
      await asked(ada, second.slug)
      await ada.account.openLinkRequests.decline({ id: requests[0]!.id })
      const { items } = await ada.account.openLinks.list({ limit: 2 })
      assert.deepEqual(
        items.map(({ id, pending_requests }) => [id, pending_requests]),
        [
          [second.id, 1],
          [first.id, 1],
        ],
      )
    })

    test('other accounts and malformed ids get not_found', async () => {
      const made = await link(ada)
      const { id: request } = await asked(ada, made.slug, newAddress(), 'hello')
      const slug = newSlug()
      for (const id of [made.id, newId('lnk_', 1), 'lnk_x', 'x', '\0', ada.id])
        for (const call of [
          () => bob.account.openLinks.pause({ id }),
          () => bob.account.openLinks.resume({ id }),
          () => bob.account.openLinks.slug({ id, body: { slug } }),
          () => bob.account.openLinks.delete({ id }),
        ])
          await rejects('not_found', call())
      for (const id of [request, newId('req_', 1), 'req_x', 'x', '\0', made.id])
        for (const call of [
          () => bob.account.openLinkRequests.decline({ id }),
          () => bob.account.openLinkApprovals.read({ id }),
        ])
          await rejects('not_found', call())
      const listed = JSON.stringify([
        await bob.account.openLinks.list({}),
        await bob.account.openLinkRequests.list({}),
      ])
      assert(!listed.includes(made.id) && !listed.includes(request))
      assert.deepEqual((await ada.account.openLinks.list({ limit: 1 })).items, [
        { ...made, pending_requests: 1 },
      ])
    })

    test('a machine account can manage the links of its account', async () => {
      const eve = await newPerson('Eve')
      const machine = asMachine(eve)
      const made = await machine.openLinks.create({ body: {} })
      assert.deepEqual(await eve.account.openLinks.list({}), await machine.openLinks.list({}))
      const { id } = await asked(eve, made.slug)
      assert.equal((await machine.openLinkRequests.decline({ id })).state, 'declined')
    })

    test('its page shows texts of its owner as text', async () => {
      const eve = await newPerson('<b>Eve</b>')
      const { slug } = await link(eve, { title: HOSTILE, slug: newSlug() })
      const text = textOf(await page(slug))
      assert(!text.includes('<img') && !text.includes('<b>') && text.includes('&lt;b&gt;Eve'))
    })
  })
}
