/**
 * Notifications: which event notifies which account of what, and reading and deleting them. For
 * every engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import type { Notification, NotificationKind } from '../../src/api/rest/notifications.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { transactionWithMarks } from '../../src/service/db/sync-marks.ts'
import { notify, notifyAll } from '../../src/service/mail/notices.ts'
import { everything } from '../account/subject.ts'
import { approveInvitation, connected, make, joinMember } from './connections/connecting.ts'
import { type Clubs, invite, openClubs } from './connections/connections-subject.ts'
import type { Engine } from './engines.ts'
import {
  addressOf,
  approve,
  connect,
  enrol,
  enrolByMail,
  join,
  mailedCode,
  newAddress,
  opening,
  type Person,
  resetOf,
  revocationBy,
} from './person.ts'
import { rejects } from '../rejects.ts'

type Summary = Pick<Notification, 'kind' | 'title' | 'data'>

/** Returns all notifications of an account, oldest first. */
async function summariesFor({ account }: { account: Account }): Promise<Summary[]> {
  const { items } = await account.notifications.list({ limit: 200 })
  return items.toReversed().map(({ kind, title, data }) => ({ kind, title, data }))
}
const kindsTo = async (person: { account: Account }) =>
  (await summariesFor(person)).map(({ kind }) => kind)

export function notificationsSuite(name: string, { newPlace }: Engine): void {
  describe(`notifications: ${name}`, () => {
    let clubs: Clubs
    const person = async (display: string): Promise<Person> =>
      clubs.inside(await enrol(clubs.server, display))
    const resident = async (display: string): Promise<Person> =>
      clubs.inside(await enrolByMail(clubs.server, newAddress(), display))
    /** Notifies an account with this title and kind. */
    const tell = (to: Person, title: string, kind: NotificationKind = 'export_ready') =>
      transactionWithMarks(clubs.hand.db, (trx) =>
        notify(trx, to.id, { kind, title, body: 'x', data: {} }, Date.parse(clubs.time())),
      )
    before(async () => {
      clubs = await openClubs(newPlace)
    })
    after(() => clubs.close())

    describe('an invitation', () => {
      test('to an account, or to its mailbox, notifies the invitee once', async () => {
        const [host, guest] = [
          await person('Host "the\u00a0most" www.evil.example'),
          await resident('Guest'),
        ]
        const { id } = await host.account.rosters.open({
          body: {
            ...(await opening(host, 'Club')),
            invite: [{ email: (await addressOf(guest)).toUpperCase() }],
          },
        })
        const [sent] = (await host.account.invitations.list({})).sent
        const { items } = await guest.account.notifications.list({})
        assert.deepEqual(items, [
          {
            id: items[0]?.id,
            kind: 'invitation_received',
            title: `"Host 'the most' www.evil.example" invites you to a connection`,
            body: items[0]?.body,
            data: { invitation_id: sent?.id, connection_id: id },
            read: false,
            created_at: clubs.time(),
          },
        ])
        assert.match(items[0]!.body, /to the connection "Club"\. /)
        await invite(host, id, await addressOf(guest))
        assert.equal((await summariesFor(guest)).length, 1, 'again is as once')
        await invite(host, id, guest)
        assert.equal((await summariesFor(guest)).length, 2)
        assert.deepEqual(await summariesFor(host), [])
      })

      test('to an unconfirmed mailbox notifies no account; one to a member’s mailbox is hidden', async () => {
        const [host, member] = [await person('Host'), await resident('Member')]
        const { id } = await connect(host, 'Club')
        const address = newAddress()
        await invite(host, id, address)
        assert.deepEqual(await summariesFor(await enrolByMail(clubs.server, address)), [])
        await joinMember(host, id, member)
        const before = await summariesFor(member)
        await invite(host, id, await addressOf(member))
        assert.deepEqual(await summariesFor(member), before)
      })

      test('the inviter is notified once of the answer; for a mailbox only of a refusal', async () => {
        const [host, guest] = [await person('Host'), await resident('Guest')]
        const { id } = await connect(host, 'Club')
        const address = await addressOf(guest)
        const first = await invite(host, id, address)
        const ids = { connection_id: id }
        for (const _ of [1, 2]) await guest.account.invitations.decline({ id: first.id })
        assert.deepEqual(await summariesFor(host), [
          {
            kind: 'invitation_declined',
            title: `${address} declined your invitation`,
            data: { ...ids, invitation_id: first.id },
          },
        ])
        const second = await invite(host, id, address)
        for (const _ of [1, 2]) await approveInvitation(guest, { id: second.id })
        assert.deepEqual((await summariesFor(host)).slice(1), [
          {
            kind: 'invitation_approved',
            title: '"Guest" approved your invitation',
            data: { ...ids, invitation_id: second.id, user_id: guest.id },
          },
        ])
        assert.deepEqual(await kindsTo(guest), [], 'both were answered')
        await host.account.invitations.withdraw({ id: second.id })
        await rejects('invalid_state', guest.account.invitations.decline({ id: second.id }), {
          state: 'withdrawn',
        })
        assert.equal((await summariesFor(host)).length, 2, 'what was refused is told to nobody')
        assert.deepEqual(await kindsTo(guest), ['invitation_withdrawn'])
      })

      test('taking back an approval notifies every inviter', async () => {
        const { id, people } = await connected(clubs.server, ['Host', 'Other'])
        const [host, other] = people.map(clubs.inside) as [Person, Person]
        await make(host, id, { op: 'role', member: other.id, role: 'owner' })
        const guest = await resident('Guest')
        const asked = [
          await invite(host, id, guest),
          await invite(other, id, await addressOf(guest)),
        ]
        for (const one of asked) await approveInvitation(guest, { id: one.id })
        await guest.account.invitations.decline({ id: asked[0]!.id })
        for (const [i, one] of [host, other].entries()) {
          const declined = (await summariesFor(one)).filter(
            ({ kind }) => kind === 'invitation_declined',
          )
          assert.deepEqual(
            declined.map(({ data }) => data['invitation_id']),
            [asked[i]?.id],
          )
        }
      })
    })

    test('members are notified of joins and departures, except the actor and the affected member', async () => {
      const [ada, bob, carl, dora] = await Promise.all(['Ada', 'Bob', 'Carl', 'Dora'].map(person))
      const { id } = await connect(ada!, 'Club')
      const people = [ada!, bob!, carl!, dora!]
      const moves = async () =>
        Promise.all(
          people.map(async (one) =>
            (await summariesFor(one))
              .filter(({ kind }) => kind.startsWith('member'))
              .map(
                ({ kind, title, data }) => `${kind}: ${title} ${Object.keys(data).sort().join()}`,
              ),
          ),
        )
      const ids = 'connection_id,user_id'
      for (const one of people.slice(1)) await joinMember(ada!, id, one)
      assert.deepEqual(await moves(), [
        [],
        [
          `member_joined: "Carl" joined a connection ${ids}`,
          `member_joined: "Dora" joined a connection ${ids}`,
        ],
        [`member_joined: "Dora" joined a connection ${ids}`],
        [],
      ])
      await bob!.account.connections.update({ id, body: { name: 'Bob’s own name' } })
      await make(carl!, id, { op: 'leave' })
      await make(ada!, id, { op: 'rotate' })
      await make(ada!, id, { op: 'remove', member: dora!.id })
      const [ofAda, ofBob, ofCarl, ofDora] = await moves()
      assert.deepEqual(ofAda, [`member_left: "Carl" left a connection ${ids}`])
      assert.deepEqual(ofBob?.slice(2), [
        `member_left: "Carl" left a connection ${ids}`,
        `member_left: "Dora" left a connection ${ids}`,
      ])
      assert.equal(ofCarl?.length, 1)
      assert.deepEqual(ofDora, [`member_left: "Carl" left a connection ${ids}`])
      const { items } = await bob!.account.notifications.list({ limit: 2 })
      assert.deepEqual(
        items.map(({ body }) => body),
        [
          '"Ada" removed "Dora" from the connection "Bob’s own name".',
          '"Carl" left the connection "Bob’s own name".',
        ],
      )
    })

    test('an added or revoked device notifies its account', async () => {
      const address = newAddress()
      const ada = await enrolByMail(clubs.server, address)
      const newcomer = await join(clubs.server, await mailedCode(clubs.server, address))
      assert.deepEqual(await summariesFor(ada), [], 'one that waits is no device yet')
      await approve(ada, newcomer)
      const data = { device_id: newcomer.device }
      const added = { kind: 'device_added', title: 'A new device: "laptop 2"', data }
      assert.deepEqual(await summariesFor(ada), [added])
      const entry = await revocationBy(ada, newcomer.device)
      for (const _ of [1, 2]) await ada.account.keyLogs.append({ body: { entry } })
      const revoked = { kind: 'device_revoked', title: 'A device was revoked: "laptop 2"', data }
      assert.deepEqual(await summariesFor(ada), [added, revoked])
    })

    test('a reset notifies the account, followers and fellow members, each once', async () => {
      const address = newAddress()
      const ada = clubs.inside(await enrolByMail(clubs.server, address, 'Ada'))
      const [fan, member, both, stranger] = await Promise.all(
        ['Fan', 'Member', 'Both', 'Stranger'].map(person),
      )
      for (const one of [fan!, both!])
        await one.account.trustCards.create({ body: { user_id: ada.id } })
      for (const name of ['One', 'Two']) {
        const { id } = await connect(ada, name)
        for (const one of [member!, both!]) await joinMember(ada, id, one)
      }
      const again = await resetOf(clubs.server, ada.id, await mailedCode(clubs.server, address))
      const changed = [
        { kind: 'keys_changed', title: 'The keys of "Ada" changed', data: { user_id: ada.id } },
      ]
      for (const [one, expected] of [
        [fan!, changed],
        [member!, changed],
        [both!, changed],
        [stranger!, []],
        [again, []],
      ] as const)
        assert.deepEqual(
          (await summariesFor(one)).filter(({ kind }) => kind === 'keys_changed'),
          expected,
        )
      assert.deepEqual((await summariesFor(again)).at(-1), {
        kind: 'account_reset',
        title: 'All devices of your account were replaced',
        data: { device_id: again.device },
      })
    })

    test('the list is the account’s own, newest first, in pages, and rejects a foreign cursor', async () => {
      const [ada, eve] = [await person('Ada'), await person('Eve')]
      for (const title of ['1', '2', '3', '4', '5']) await tell(ada, title)
      const pages = await everything((page) => ada.account.notifications.list(page), 2)
      const titles = pages.map((page) => page.map(({ title }) => title))
      assert.deepEqual(titles, [['5', '4'], ['3', '2'], ['1']])
      assert.deepEqual((await eve.account.notifications.list({})).items, [])
      await connect(ada)
      await connect(ada)
      const other = (await ada.account.connections.list({ limit: 1 })).next_cursor!
      for (const wrong of [other, '', '*'])
        await rejects('bad_request', ada.account.notifications.list({ cursor: wrong }))
      for (const limit of [-1, 0, 201])
        await rejects('validation_failed', ada.account.notifications.list({ limit }))
    })

    test('marks and deletes the given ones, or all, and none of other accounts', async () => {
      const [ada, eve] = [await person('Ada'), await person('Eve')]
      for (const title of ['1', '2', '3', '4']) await tell(ada, title)
      await tell(eve, 'hers')
      const list = async () => (await ada.account.notifications.list({})).items
      const [d, c, b, a] = (await list()).map(({ id }) => id) as [string, string, string, string]
      const nobodys = newId('ntf_', Date.now())
      const hers = (await eve.account.notifications.list({})).items
      const { notifications } = ada.account
      const isRead = async () => (await list()).map(({ read }) => (read ? 'read' : 'new')).join(' ')

      for (const [ids, read, now] of [
        [[], 0, 'new new new new'],
        [[nobodys, hers[0]!.id], 0, 'new new new new'],
        [[a, c, c, nobodys], 2, 'new read new read'],
        [[a, b], 1, 'new read read read'],
        [undefined, 1, 'read read read read'],
        [undefined, 0, 'read read read read'],
      ] as const) {
        const body = ids === undefined ? {} : { ids: [...ids] }
        assert.deepEqual(await notifications.read({ body }), { read })
        assert.equal(await isRead(), now)
      }
      for (const [id, deleted, left] of [
        [[], 0, [d, c, b, a]],
        [[nobodys, hers[0]!.id], 0, [d, c, b, a]],
        [[b, b, nobodys], 1, [d, c, a]],
        [[a, b], 1, [d, c]],
        [undefined, 2, []],
        [undefined, 0, []],
      ] as const) {
        const named = id === undefined ? {} : { id: [...id] }
        assert.deepEqual(await notifications.delete(named), { deleted })
        const stored = (await list()).map((one) => one.id)
        assert.deepEqual(stored, left)
      }
      assert.deepEqual((await eve.account.notifications.list({})).items, hers)
      for (const wrong of ['x', 'ntf_', hers[0]!.id.toUpperCase(), `con_${a.slice(4)}`]) {
        await rejects('validation_failed', notifications.read({ body: { ids: [wrong] } }))
        await rejects('validation_failed', notifications.delete({ id: [wrong] }))
      }
    })

    /** Inserts more notifications than an account keeps of a kind. */
    async function fill({ id: account_id }: Person, kind = 'export_ready') {
      const row = { kind, body: 'x', data: '{}', read_at: null, created_at: 0 }
      const rows = Array.from({ length: 1000 }, (_, i) => ({
        id: newId('ntf_', Date.now()),
        account_id,
        title: String(i),
        ...row,
      }))
      await clubs.hand.db.insertInto('notifications').values(rows).execute()
    }

    test('concurrent events for the same accounts with full lists do not deadlock', async () => {
      const all = await Promise.all(['A', 'B', 'C'].map(person))
      for (const one of all) await fill(one)
      const note = { kind: 'export_ready', title: 'x', body: 'x', data: {} } as const
      const writes = Array.from({ length: 12 }, (_, i) => {
        const turned = [...all.slice(i % 3), ...all.slice(0, i % 3)]
        return transactionWithMarks(clubs.hand.db, async (trx) => {
          const notes = new Map(turned.map(({ id }) => [id, note]))
          await notifyAll(trx, notes, Date.now())
        })
      })
      await Promise.all(writes)
      for (const one of all) {
        await tell(one, 'last')
        const [count] = await clubs.hand.db
          .selectFrom('notifications')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .where('account_id', '=', one.id)
          .execute()
        assert.equal(Number(count?.count), 500)
      }
    })

    test('the newest 500 are kept, and 500 caused by strangers', async () => {
      const ada = await person('Ada')
      const { db } = clubs.hand
      await fill(ada)
      await tell(ada, 'newest')
      const stored = await db
        .selectFrom('notifications')
        .select('title')
        .where('account_id', '=', ada.id)
        .orderBy('id')
        .execute()
      assert.deepEqual(
        [stored.length, stored[0]?.title, stored.at(-1)?.title],
        [500, '501', 'newest'],
      )
      await fill(ada, 'open_link_request')
      const note = { kind: 'open_link_request', title: 'asked', body: 'x', data: {} } as const
      await transactionWithMarks(db, (trx) => notify(trx, ada.id, note, Date.now()))
      const titles = (
        await db
          .selectFrom('notifications')
          .select('title')
          .where('account_id', '=', ada.id)
          .execute()
      ).map(({ title }) => title)
      assert.equal(titles.length, 1000)
      assert(titles.includes('newest') && titles.includes('asked'), 'neither pushes out the other')
    })

    test('a rolled-back transaction adds no notification', async () => {
      const ada = await person('Ada')
      const { db } = clubs.hand
      const undone = transactionWithMarks(db, async (trx) => {
        const note = { kind: 'export_ready', title: 'x', body: 'x', data: {} } as const
        await notify(trx, ada.id, note, 0)
        throw new Error('undone')
      })
      await assert.rejects(undone, /undone/)
      assert.deepEqual(await summariesFor(ada), [])
    })
  })
}
