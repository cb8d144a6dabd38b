/**
 * The data that belongs to an account: tags, presets, open links, external members,
 * notifications, addresses, the assistant. On every server.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Content } from '../../src/api/route.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import {
  arrived,
  connect,
  enrol,
  enrolByMail,
  newAddress,
  opening,
  type Person,
} from '../service/person.ts'
import { type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

/** Returns the body of a `media` row as text, whether it arrives whole or as a stream. */
async function textOf({ body }: Content): Promise<string> {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return new TextDecoder().decode(body)
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of body) text += decoder.decode(bytes, { stream: true })
  return text
}

export function belongingsSuite(accounts: () => Accounts): void {
  let { server, newGuest } = {} as Accounts
  before(() => {
    ;({ server, newGuest } = accounts())
  })

  describe('belongings', () => {
    test('tags: created, changed, assigned, unassigned, deleted', async () => {
      const { account, ...ada } = await enrol(server)
      const { tags } = account
      const tag = await tags.create({ body: { name: 'Work', color: '#2453b8' } })
      assert.deepEqual((await tags.list({})).items, [tag])
      const { id: cid } = await connect({ account, ...ada } as Person)
      assert.deepEqual((await tags.assign({ id: tag.id, cid })).tag_ids, [tag.id])
      assert.deepEqual((await tags.assign({ id: tag.id, cid })).tag_ids, [tag.id])
      assert.equal((await tags.list({})).items[0]?.connection_count, 1)
      assert.equal(
        (await tags.update({ id: tag.id, body: { name: 'Office', color: null } })).color,
        null,
      )
      await tags.unassign({ id: tag.id, cid })
      await rejects('not_found', tags.unassign({ id: tag.id, cid }))
      await rejects('conflict', tags.create({ body: { name: 'office' } }))
      await tags.delete({ id: tag.id })
      await rejects('not_found', tags.delete({ id: tag.id }))
      await rejects('not_found', tags.update({ id: 'x', body: {} }))
    })

    test('presets: a new connection uses the default', async () => {
      const ada = await enrol(server)
      const { presets, tags, rosters, invitations } = ada.account
      const tag = await tags.create({ body: { name: 'Customers' } })
      const body = { name: 'Usual', tag_ids: [tag.id], favorite: true, invite_message: 'Welcome!' }
      const preset = await presets.create({ body })
      assert.equal((await presets.setDefault({ id: preset.id })).is_default, true)
      const invite = [{ email: newAddress() }]
      const made = await rosters.open({ body: { ...(await opening(ada)), invite } })
      assert.deepEqual([made.preset_id, made.tag_ids, made.favorite], [preset.id, [tag.id], true])
      assert.equal((await invitations.list({})).sent[0]?.message, 'Welcome!')
      await presets.clearDefault({})
      await presets.clearDefault({})
      const plain = await rosters.open({ body: await opening(ada) })
      assert.deepEqual([plain.preset_id, plain.tag_ids, plain.favorite], [null, [], false])
      await presets.delete({ id: preset.id })
      assert.equal((await ada.account.connections.read({ id: made.id })).preset_id, null)
      await rejects('not_found', presets.setDefault({ id: preset.id }))
    })

    test('open links: created, paused, resumed, moved, deleted', async () => {
      const { account } = await enrol(server)
      const { openLinks, openLinkRequests } = account
      const { slug } = await openLinks.suggest({})
      const link = await openLinks.create({ body: { slug, title: 'Hello' } })
      assert(link.url.endsWith(`/o/${slug}`))
      await rejects('conflict', openLinks.create({ body: { slug } }))
      const of = { id: link.id }
      for (const [move, state] of [
        ['pause', 'paused'],
        ['pause', 'paused'],
        ['resume', 'active'],
        ['resume', 'active'],
      ] as const)
        assert.equal((await openLinks[move](of)).state, state)
      const newSlug = `${slug}-2`.slice(-40).replace(/^-/, '')
      assert.equal((await openLinks.slug({ ...of, body: { slug: newSlug } })).slug, newSlug)
      assert.deepEqual(await openLinkRequests.list({}), { items: [], next_cursor: null })
      await rejects('not_found', openLinkRequests.decline({ id: newId('req_', 1) }))
      await openLinks.delete(of)
      await rejects('not_found', openLinks.pause(of))
    })

    test('external members and their guest codes', async () => {
      const { account } = await enrol(server)
      const { externalMembers, guestCodes, deviceGuestCodes } = account
      const email = newAddress()
      const member = await externalMembers.create({ body: { display_name: 'Plumber', email } })
      assert.deepEqual((await externalMembers.list({})).items, [member])
      const guest = await newGuest(account)
      const theirs = await deviceGuestCodes.create({
        body: {
          id: newId('gst_', Date.now()),
          label: 'Theirs',
          expires_at: guest.expires_at,
          external_member_id: member.id,
        },
      })
      assert.equal(theirs.external_member_id, member.id)
      await deviceGuestCodes.send({ id: theirs.id, body: { secret: 'A'.repeat(43) } })
      await arrived(server, email, new RegExp(`/g/${theirs.id}#A{43}`))
      await externalMembers.delete({ id: member.id })
      const states = new Map((await guestCodes.list({})).items.map((one) => [one.id, one.state]))
      assert.deepEqual([states.get(theirs.id), states.get(guest.id)], ['revoked', 'active'])
      await rejects('not_found', externalMembers.delete({ id: member.id }))
    })

    test('a further address, and the notification of an invitation to it', async () => {
      const first = newAddress()
      const [ada, bob] = [await enrolByMail(server, first), await enrol(server)]
      const { emails, notifications } = ada.account
      const second = newAddress()
      const claim = await emails.create({ body: { address: second } })
      assert.deepEqual([claim.address, claim.verified, claim.primary], [second, false, false])
      assert.equal((await emails.list({})).items.length, 2)
      await arrived(server, second, /\/confirm\/[\w-]{43}/)

      const { id } = await connect(bob)
      await bob.account.members.add({ id, body: { email: first } })
      const [note] = (await notifications.list({})).items
      assert.deepEqual([note?.kind, note?.read], ['invitation_received', false])
      assert.deepEqual(await notifications.read({ body: { ids: [note!.id] } }), { read: 1 })
      assert.deepEqual(await notifications.read({ body: {} }), { read: 0 })
      assert.deepEqual(await notifications.delete({ id: [note!.id] }), { deleted: 1 })
      assert.deepEqual(await notifications.list({}), { items: [], next_cursor: null })
    })

    test('the active organisation belongs to the session', async () => {
      const { account } = await enrol(server)
      const { id } = await account.organisations.create({ body: { name: 'Example' } })
      assert.equal((await account.context.read({})).active_organisation, undefined)
      const chosen = await account.context.activeOrg({ body: { organisation_id: id } })
      assert.equal(chosen.active_organisation?.id, id)
      const { items } = await account.sessions.list({})
      assert.deepEqual(
        items.map((one) => [one.current, one.active_organisation_id]),
        [[true, id]],
      )
      const none = await account.context.activeOrg({ body: { organisation_id: null } })
      assert.equal(none.active_organisation, undefined)
      const foreign = { organisation_id: newId('org_', 1) }
      await rejects('not_found', account.context.activeOrg({ body: foreign }))
    })

    test('the handbook answers, an answer can be rated, and feedback is accepted', async () => {
      const { account } = await enrol(server)
      const stream = await account.chat.turn({
        body: { message: 'How do I check a stamp offline?' },
      })
      const { assistant, turn_id, answer } = JSON.parse(await textOf(stream))
      assert.equal(assistant, 'handbook')
      assert.match(answer, /stamp verify/)
      const rated = await account.chat.rate({ body: { turn_id, rating: 'up' } })
      assert.deepEqual(rated, { turn_id, rating: 'up', comment: null })
      await rejects(
        'not_found',
        account.chat.rate({ body: { turn_id: newId('trn_', 1), rating: 'up' } }),
      )
      const sent = await account.feedback.send({ body: { message: 'Well done.' } })
      assert.equal(sent.message, 'Well done.')
    })
  })
}
