/**
 * Owners’ answers to requests at open links. The state of a request decides, and an approval is
 * stored together with its connection or not at all.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { OpenLinkRequest } from '../../../src/api/rest/open-links.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { addressOf, arrived, newAddress, opening, type Person } from '../person.ts'
import type { Links } from './open-links-subject.ts'
import { rejects } from '../../rejects.ts'

export function openLinkAnswersSuite(links: () => Links): void {
  let { ada, bob, server, newPerson, asMachine, asked, link, later } = {} as Links
  before(() => {
    ;({ ada, bob, server, newPerson, asMachine, asked, link, later } = links())
  })

  /** Returns the body with which a device approves a request. */
  const bodyFor = async (by: Person, { id, requester }: OpenLinkRequest) => ({
    ...(await opening(by, requester.display_name)),
    invite: [{ email: requester.email }],
    open_link_request: id,
  })
  const approve = async (by: Person, request: OpenLinkRequest) =>
    by.account.rosters.open({ body: await bodyFor(by, request) })
  const decline = (by: Person, { id }: OpenLinkRequest) =>
    by.account.openLinkRequests.decline({ id })
  const state = async (by: Person, { id }: OpenLinkRequest) =>
    (await by.account.openLinkApprovals.read({ id })).state

  describe('a request by an open link', () => {
    test('shows the requester, the message and the outcome', async () => {
      const { id: open_link_id, slug } = await link(ada)
      const email = newAddress()
      const request = await asked(ada, slug, email.toUpperCase(), 'Hello\nthere')
      assert.deepEqual(request, {
        id: request.id,
        open_link_id,
        requester: { display_name: 'Gus', email: email.toLowerCase() },
        message: 'Hello\nthere',
        state: 'pending',
        connection_id: null,
        created_at: request.created_at,
      })
      const made = await approve(ada, request)
      const after = { ...request, state: 'approved', connection_id: made.id }
      assert.deepEqual(await ada.account.openLinkApprovals.read({ id: request.id }), after)
      assert.deepEqual((await ada.account.openLinkRequests.list({ limit: 1 })).items, [after])
      assert.deepEqual(
        made.members.map(({ display_name, state: is }) => [display_name, is]),
        [
          ['Ada Lovelace', 'active'],
          [email.toLowerCase(), 'invited'],
        ],
      )
      await arrived(server, email.toLowerCase(), /invites you/)
      // The connection may end; the server still has the approval.
      await ada.account.connections.delete({ id: made.id })
      assert.deepEqual(await ada.account.openLinkApprovals.read({ id: request.id }), {
        ...after,
        connection_id: null,
      })
    })

    const table: [from: 'pending' | 'approved' | 'declined', action: string, to: string][] = [
      ['pending', 'approve', 'approved'],
      ['pending', 'decline', 'declined'],
      ['declined', 'decline', 'unchanged'],
      ['declined', 'approve', 'invalid_state declined'],
      ['approved', 'decline', 'invalid_state approved'],
      ['approved', 'approve', 'invalid_state approved'],
    ]
    for (const [from, action, to] of table)
      test(`${from}, ${action}: ${to}`, async () => {
        const { slug } = await link(ada)
        const request = await asked(ada, slug)
        if (from === 'approved') await approve(ada, request)
        if (from === 'declined') await decline(ada, request)
        const before = await ada.account.openLinkApprovals.read({ id: request.id })
        const connections = (await ada.account.connections.list({ limit: 200 })).items.length
        const act = () => (action === 'approve' ? approve(ada, request) : decline(ada, request))
        const [code, stands] = to.split(' ')
        if (code === 'invalid_state') await rejects(code, act(), { state: stands })
        else await act()
        const expected = to === 'approved' || to === 'declined' ? to : before.state
        assert.equal(await state(ada, request), expected)
        const made = (await ada.account.connections.list({ limit: 200 })).items.length - connections
        assert.equal(made, to === 'approved' ? 1 : 0)
      })

    test('the same approval can be repeated', async () => {
      const { slug } = await link(ada)
      const body = await bodyFor(ada, await asked(ada, slug))
      const made = await ada.account.rosters.open({ body })
      assert.deepEqual(await ada.account.rosters.open({ body }), made)
    })

    test('of two concurrent approvals and a refusal, one succeeds', async () => {
      const eve = await newPerson('Eve')
      const { slug } = await link(eve)
      const request = await asked(eve, slug)
      const answers = await Promise.allSettled([
        approve(eve, request),
        approve(eve, request),
        decline(eve, request),
      ])
      const good = answers.filter((one) => one.status === 'fulfilled')
      assert.equal(good.length, 1)
      for (const one of answers)
        if (one.status === 'rejected') assert.equal(one.reason.code, 'invalid_state')
      const is = await state(eve, request)
      const { items } = await eve.account.connections.list({})
      assert.equal(items.length, is === 'approved' ? 1 : 0)
      assert.equal((await eve.account.invitations.list({})).sent.length, items.length)
    })

    test('an opening that does not match the request is rejected, and nothing is stored', async () => {
      const eve = await newPerson('Eve')
      const { slug } = await link(ada)
      const { slug: own } = await link(eve)
      const [foreign, request] = [await asked(ada, slug), await asked(eve, own)]
      const opened = async (change: object) =>
        eve.account.rosters.open({ body: { ...(await bodyFor(eve, request)), ...change } })
      await rejects('not_found', opened({ open_link_request: foreign.id }))
      await rejects('not_found', opened({ open_link_request: newId('req_', 1) }))
      await rejects('validation_failed', opened({ open_link_request: 'x' }))
      for (const invite of [[], [{ email: newAddress() }], [{ user_id: bob.id }]])
        await rejects('validation_failed', opened({ invite }))
      assert.deepEqual((await eve.account.connections.list({})).items, [])
      assert.deepEqual((await eve.account.invitations.list({})).sent, [])
      assert.deepEqual(
        [await state(eve, request), await state(ada, foreign)],
        ['pending', 'pending'],
      )
    })

    test('from the own mailbox can only be declined', async () => {
      const eve = await links().newReader('Eve')
      const { slug } = await link(eve)
      const request = await asked(eve, slug, await addressOf(eve))
      await rejects('invalid_state', approve(eve, request), { state: 'self' })
      assert.equal(await state(eve, request), 'pending')
      assert.equal((await decline(eve, request)).state, 'declined')
    })

    test('cannot be approved with a machine token, which has no keys', async () => {
      const { slug } = await link(ada)
      const request = await asked(ada, slug)
      const body = await bodyFor(ada, request)
      await rejects('no_device', asMachine(ada).rosters.open({ body }))
      assert.equal(await state(ada, request), 'pending')
    })

    test('is listed by the time of its confirmation, on all pages', async () => {
      const eve = await newPerson('Eve')
      const { slug } = await link(eve)
      const { post, mailed, follow } = links()
      const early = newAddress()
      await post(slug, { email: early })
      const expected = []
      for (let i = 0; i < 5; i++) {
        later(1000)
        expected.unshift((await asked(eve, slug)).requester.email)
      }
      const first = await eve.account.openLinkRequests.list({ limit: 2 })
      // Confirmed while the pages are read: it neither hides nor repeats another request.
      await follow(await mailed(early))
      const seen = first.items.map(({ requester }) => requester.email)
      for (let cursor = first.next_cursor; cursor !== null;) {
        const found = await eve.account.openLinkRequests.list({ limit: 2, cursor })
        seen.push(...found.items.map(({ requester }) => requester.email))
        cursor = found.next_cursor
      }
      assert.deepEqual(seen, expected)
      const [newest] = (await eve.account.openLinkRequests.list({ limit: 1 })).items
      assert.equal(newest?.requester.email, early)
      const foreign = Buffer.from(newId('lnk_', 1)).toString('base64url')
      await rejects('bad_request', eve.account.openLinkRequests.list({ cursor: foreign }))
    })
  })
}
