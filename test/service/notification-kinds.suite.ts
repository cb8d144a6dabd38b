/** Every kind of notification, caused once by real calls of the routes. For every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import {
  type Notification,
  NotificationKind,
  type NotificationKind as Kind,
} from '../../src/api/rest/notifications.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { every } from '../../src/api/cursor.ts'
import { approveInvitation, make, joinMember } from './connections/connecting.ts'
import { invite } from './connections/connections-subject.ts'
import { DAY } from './emails-subject.ts'
import type { Engine } from './engines.ts'
import {
  type Organisations,
  invite as inviteToOrganisation,
  openOrganisation,
  suspend,
  activate,
} from './organisations/org-members-subject.ts'
import {
  addressOf,
  approve,
  connect,
  join,
  mailedCode,
  newAddress,
  opening,
  protect,
  resetOf,
  revocationBy,
} from './person.ts'
import { openSubject } from './subject.ts'
import { until } from '../until.ts'

type By = { readonly account: Account }

const ANYBODY = { key: null }

export function notificationKindsSuite(name: string, engine: Engine): void {
  describe(`kinds of notifications: ${name}`, () => {
    let place: Organisations
    before(async () => {
      place = await openOrganisation(engine)
    })
    after(() => place.close())

    const notificationsOf = ({ account }: By): Promise<Notification[]> =>
      every((query) => account.notifications.list(query))
    /** Returns the only notification of a kind, once it is there. */
    async function notificationOf(to: By, kind: Kind): Promise<Notification> {
      return until(`a notification ${kind}`, async () => {
        const found = (await notificationsOf(to)).filter((one) => one.kind === kind)
        assert(found.length < 2, `${kind} came ${found.length} times`)
        return found[0]
      })
    }
    const person = (called?: string) => place.byMail(undefined, called)
    const follow = (token: string) =>
      place.subject.service.open.confirmationPages.confirm({ token, body: {} }, ANYBODY)

    /** Connects a host, who invites a guest. */
    async function invited() {
      const [host, guest] = [await person('Host'), await person('Guest')]
      const { id } = await connect(host, 'Club')
      const invitation = await invite(host, id, guest)
      return { host, guest, connection: id, invitation: invitation.id }
    }
    /** Connects a host with two others, who are members. */
    async function club() {
      const [host, guest, other] = [await person('Host'), await person('Guest'), await person()]
      const { id } = await connect(host, 'Club')
      await joinMember(host, id, other)
      await joinMember(host, id, guest)
      return { host, guest, other, connection: id }
    }
    /** Enrols an account with a further, approved device. */
    async function further() {
      const owner = await person()
      const newcomer = await join(
        place.subject.server,
        await mailedCode(place.subject.server, await addressOf(owner)),
      )
      await approve(owner, newcomer)
      return { owner, newcomer }
    }
    /** Resets an account, which replaces all its devices; `again` is the new one. */
    async function reset() {
      const { server } = place.subject
      const [owner, follower] = [await person(), await person()]
      await follower.account.trustCards.create({ body: { user_id: owner.id } })
      const code = await mailedCode(server, await addressOf(owner))
      return { follower, again: place.inside(await resetOf(server, owner.id, code)) }
    }

    /** A person asks at an open link of the owner, and confirms the mailbox. */
    async function ask(owner: By, { id, slug }: { id: string; slug: string }) {
      const email = newAddress()
      const body = { display_name: 'Gus', email, message: '' }
      await place.subject.service.open.openLinkPages.ask({ slug, body }, ANYBODY)
      await follow((await place.mailed(email))[0]!)
      const { items } = await owner.account.openLinkRequests.list({ limit: 1 })
      assert.equal(items[0]?.requester.email, email)
      return { link: id, request: items[0].id, email }
    }
    /** An account with an open link at which two people have asked. */
    async function asked() {
      const owner = await person()
      const link = await owner.account.openLinks.create({ body: {} })
      await ask(owner, link)
      return { owner, ...(await ask(owner, link)) }
    }

    /** The cause of each kind. Returns the account that is notified. */
    const CAUSES: Readonly<Record<Kind, () => Promise<By>>> = {
      invitation_received: async () => (await invited()).guest,
      invitation_approved: async () => {
        const { host, guest, invitation } = await invited()
        await approveInvitation(guest, { id: invitation })
        return host
      },
      invitation_declined: async () => {
        const { host, guest, invitation } = await invited()
        await guest.account.invitations.decline({ id: invitation })
        return host
      },
      invitation_withdrawn: async () => {
        const { host, guest, invitation } = await invited()
        await host.account.invitations.withdraw({ id: invitation })
        return guest
      },
      invitation_expired: async () => {
        const { host } = await invited()
        place.later(14 * DAY)
        return host
      },
      member_joined: async () => (await club()).other,
      member_left: async () => {
        const { guest, other, connection } = await club()
        await make(guest, connection, { op: 'leave' })
        return other
      },
      connection_ended: async () => {
        const { host, guest, connection } = await club()
        await make(host, connection, { op: 'end' })
        return guest
      },
      removed_from_connection: async () => {
        const { host, guest, connection } = await club()
        await make(host, connection, { op: 'remove', member: guest.id })
        return guest
      },
      open_link_request: async () => {
        const owner = await person()
        await ask(owner, await owner.account.openLinks.create({ body: {} }))
        return owner
      },
      guest_code_opened: async () => {
        const owner = await person()
        const { id } = await owner.account.deviceGuestCodes.create({
          body: {
            id: newId('gst_', Date.now()),
            label: 'A friend',
            expires_at: new Date(place.subject.clock.ms + DAY).toISOString(),
          },
        })
        await place.subject.service.open.guestPages.opened({ id }, ANYBODY)
        return owner
      },
      guest_code_ending: async () => {
        const owner = await person()
        await owner.account.deviceGuestCodes.create({
          body: {
            id: newId('gst_', Date.now()),
            label: 'A friend',
            expires_at: new Date(place.subject.clock.ms + 3 * DAY).toISOString(),
          },
        })
        place.later(2 * DAY)
        // A server that sweeps at its start.
        const server = await openSubject(place.database, place.subject.clock, { sweepsAfterMs: 0 })
        await server.service.nonce()
        await notificationOf(owner, 'guest_code_ending')
        await server.close()
        return owner
      },
      keys_changed: async () => (await reset()).follower,
      device_added: async () => (await further()).owner,
      device_revoked: async () => {
        const { owner, newcomer } = await further()
        const entry = await revocationBy(owner, newcomer.device)
        await owner.account.keyLogs.append({ body: { entry } })
        return owner
      },
      recovery_key_changed: async () => {
        const owner = await person()
        await protect(owner)
        return owner
      },
      account_reset: async () => (await reset()).again,
      email_added: async () => {
        const owner = await person()
        const { token } = await place.claimed(owner, `${newId('', Date.now())}@example.org`)
        await follow(token)
        return owner
      },
      export_ready: async () => {
        const owner = await person()
        await owner.account.exports.create({})
        return owner
      },
      export_failed: async () => {
        const owner = await person()
        // A row that was damaged on the disk.
        await place.hand.db
          .insertInto('verifications')
          .values({ account_id: owner.id, id: newId('ver_', Date.now()), entry: '{' })
          .execute()
        await owner.account.exports.create({})
        return owner
      },
      webhook_given_up: async () => {
        const owner = await person()
        const body = {
          webhook_id: newId('whk_', Date.now()),
          event_id: newId('evt_', Date.now()),
          name: 'Alarm',
          failing_since: place.time(),
        }
        await owner.account.webhookNotices.create({ body })
        return owner
      },
      org_invited: async () => {
        const [owner, guest] = [await place.owner(), await person()]
        await inviteToOrganisation(owner, await addressOf(guest))
        return guest
      },
      org_alert: async () => {
        const owner = await place.owner()
        const rule = { name: 'Groups', event: 'group_created', threshold: 1, window_minutes: 5 }
        await owner.account.orgAlerts.create({
          body: { ...rule, event: 'group_created', enabled: true, notify: [owner.id] },
        })
        await owner.account.orgGroups.create({ body: { name: 'Night shift' } })
        return owner
      },
      org_activated: async () => {
        const owner = await place.owner()
        const member = await place.member(owner)
        await suspend(owner, member.id)
        await activate(owner, member.id)
        return member
      },
      org_suspended: async () => {
        const owner = await place.owner()
        const member = await place.member(owner)
        await suspend(owner, member.id)
        return member
      },
      org_role_changed: async () => {
        const owner = await place.owner()
        const member = await place.member(owner)
        await inviteToOrganisation(owner, member.address, 'admin')
        return member
      },
    }

    test('the tests have a cause for each kind of the schema', () => {
      assert.deepEqual(Object.keys(CAUSES).toSorted(), NotificationKind.options.toSorted())
    })

    for (const kind of NotificationKind.options)
      test(kind, async () => {
        const note = await notificationOf(await CAUSES[kind](), kind)
        assert.match(note.title, /^.{8,}$/)
        assert.match(note.body, /^.{20,}$/)
        assert.equal(note.read, false)
      })

    test('a new recovery key: contacts have to confirm the keys of a reset without it', async () => {
      const { body } = await notificationOf(
        await CAUSES.recovery_key_changed(),
        'recovery_key_changed',
      )
      assert.match(body, /can replace all your devices\. Your contacts then do not have to confirm/)
      assert.match(
        body,
        /reset the account without the recovery key: .* Until a contact confirms your new keys,/,
      )
    })

    const kindsTo = async (to: By) => (await notificationsOf(to)).map(({ kind }) => kind)

    /** The ends of an invitation, and the notifications that its receiver keeps. */
    const ENDS: [
      name: string,
      end: (of: Awaited<ReturnType<typeof invited>>) => Promise<unknown>,
      left: Kind[],
    ][] = [
      ['approved', ({ guest, invitation: id }) => approveInvitation(guest, { id }), []],
      ['declined', ({ guest, invitation: id }) => guest.account.invitations.decline({ id }), []],
      [
        'withdrawn',
        ({ host, invitation: id }) => host.account.invitations.withdraw({ id }),
        ['invitation_withdrawn'],
      ],
      [
        'withdrawn by removing the member',
        ({ host, guest, connection: id }) => host.account.members.remove({ id, mid: guest.id }),
        ['invitation_withdrawn'],
      ],
      [
        'withdrawn after its approval',
        async ({ host, guest, invitation: id }) => {
          await approveInvitation(guest, { id })
          await host.account.invitations.withdraw({ id })
        },
        ['invitation_withdrawn'],
      ],
      [
        'ended with its connection',
        ({ host, connection: id }) => host.account.connections.delete({ id }),
        ['invitation_withdrawn'],
      ],
      [
        'ended with its connection, for all members',
        ({ host, connection }) => make(host, connection, { op: 'end' }),
        ['invitation_withdrawn'],
      ],
      [
        'ended with the account of the inviter',
        ({ host }) => host.account.account.delete({}),
        ['invitation_withdrawn'],
      ],
      ['expired', async () => place.later(14 * DAY), ['invitation_expired']],
    ]
    for (const [how, end, left] of ENDS)
      test(`an invitation that is ${how} leaves no request to answer it`, async () => {
        const of = await invited()
        assert.deepEqual(await kindsTo(of.guest), ['invitation_received'])
        await end(of)
        assert.deepEqual(await kindsTo(of.guest), left)
        assert.deepEqual(await kindsTo(of.guest), left, 'once')
      })

    /** What ends a request at an open link, and how many notifications of two requests stay. */
    const REQUEST_ENDS: [
      name: string,
      end: (of: Awaited<ReturnType<typeof asked>>) => Promise<unknown>,
      left: number,
    ][] = [
      [
        'approved',
        async ({ owner, request, email }) =>
          owner.account.rosters.open({
            body: {
              ...(await opening(owner)),
              invite: [{ email }],
              open_link_request: request,
            },
          }),
        1,
      ],
      ['declined', ({ owner, request: id }) => owner.account.openLinkRequests.decline({ id }), 1],
      ['deleted with its link', ({ owner, link: id }) => owner.account.openLinks.delete({ id }), 0],
    ]
    for (const [how, end, left] of REQUEST_ENDS)
      test(`a request at an open link that is ${how} leaves no notification`, async () => {
        const of = await asked()
        const notesOf = async () =>
          (await notificationsOf(of.owner)).filter(({ kind }) => kind === 'open_link_request')
        assert.equal((await notesOf()).length, 2)
        await end(of)
        const notes = await notesOf()
        assert.equal(notes.length, left)
        assert(!notes.some(({ data }) => data['open_link_request_id'] === of.request))
      })

    test('the request is deleted when the invitee joins, or the inviter is no owner any more', async () => {
      const { host, guest, other, connection } = await club()
      assert(!(await kindsTo(guest)).includes('invitation_received'))
      await make(host, connection, { op: 'role', member: other.id, role: 'owner' })
      const dora = await person('Dora')
      await invite(other, connection, dora)
      assert.deepEqual(await kindsTo(dora), ['invitation_received'])
      await make(host, connection, { op: 'role', member: other.id, role: 'member' })
      assert.deepEqual(await kindsTo(dora), ['invitation_withdrawn'])
    })

    test('an invitation hidden from its receiver ends without a notification', async () => {
      const { host, guest, connection } = await club()
      const before = await kindsTo(guest)
      const hidden = await invite(host, connection, await addressOf(guest))
      await host.account.invitations.withdraw({ id: hidden.id })
      assert.deepEqual(await kindsTo(guest), before)
      const other = await invite(host, connection, await addressOf(guest))
      place.later(14 * DAY)
      assert.deepEqual(await kindsTo(guest), before)
      await notificationOf(host, 'invitation_expired')
      const { received } = await guest.account.invitations.list({})
      assert(!received.some(({ id }) => id === other.id), 'also once its end was noted')
    })

    test('both sides are notified of an expiry, of an approval too, whichever looks first', async () => {
      for (const first of ['host', 'guest'] as const)
        for (const answer of ['none', 'approved'] as const) {
          const of = await invited()
          if (answer === 'approved') await approveInvitation(of.guest, { id: of.invitation })
          place.later((answer === 'approved' ? 15 : 14) * DAY)
          const second = first === 'host' ? of.guest : of.host
          for (const who of [of[first], second])
            assert.deepEqual((await notificationOf(who, 'invitation_expired')).data, {
              invitation_id: of.invitation,
              connection_id: of.connection,
            })
          const { sent } = await of.host.account.invitations.list({})
          assert.equal(sent[0]?.state, 'expired')
          const again = await invite(of.host, of.connection, of.guest)
          assert.notEqual(again.id, of.invitation)
        }
    })

    test('deleting an account notifies no member of a connection that had ended', async () => {
      const { host, guest, other, connection } = await club()
      await make(host, connection, { op: 'end' })
      const before = await kindsTo(other)
      await guest.account.account.delete({})
      assert.deepEqual(await kindsTo(other), before)
    })

    test('adding a member again deletes the notification of the removal', async () => {
      const { host, guest, connection } = await club()
      await make(host, connection, { op: 'remove', member: guest.id })
      const { data } = await notificationOf(guest, 'removed_from_connection')
      assert.deepEqual(data, { connection_id: connection, user_id: host.id })
      await joinMember(host, connection, guest)
      assert(!(await kindsTo(guest)).includes('removed_from_connection'))
    })
  })
}
