/** What the account server lists as changed of the lists that devices show. For every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SYNC_LISTS, type SyncPart } from '../../../src/api/device/changes.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { approved, approveInvitation, joinMember, make } from '../connections/connecting.ts'
import type { Engine } from '../engines.ts'
import { exported } from '../exports/exports-subject.ts'
import {
  activate,
  invite,
  inviteAll,
  openOrganisation,
  suspend,
  type Organisations,
} from '../organisations/org-members-subject.ts'
import { approve, connect, join, mailedCode, newAddress, opening, type Person } from '../person.ts'
import { listsChangedBy } from './shown-lists.ts'

const DAY = 24 * 3_600_000

type Lists = readonly SyncPart[]
type Owner = Person & { readonly organisation: string }

export function listsSuite(name: string, engine: Engine): void {
  let orgs: Organisations
  before(async () => {
    orgs = await openOrganisation(engine)
  })
  after(() => orgs.close())

  /** Sends a request at a new link of a person, and returns what confirms it. */
  async function asking(ada: Person, email = newAddress()) {
    const { slug, id: link } = await ada.account.openLinks.create({ body: {} })
    const body = { display_name: 'Gus', email, message: '' }
    await orgs.subject.service.open.openLinkPages.ask({ slug, body }, { key: null })
    const [token] = await orgs.mailed(email)
    return { link, email, confirm: () => orgs.confirm(token!) }
  }

  /** Returns the id of a confirmed request. */
  async function asked(ada: Person, email = newAddress()) {
    const { link, confirm } = await asking(ada, email)
    await confirm()
    const [request] = (await ada.account.openLinkRequests.list({ limit: 1 })).items
    return { link, email, id: request!.id }
  }

  async function invited(ada: Person, bob: Person, by: 'account' | 'mailbox' = 'account') {
    const { id: connection } = await connect(ada, 'Club')
    const email = await mailboxOf(bob)
    const body = by === 'account' ? { user_id: bob.id } : { email }
    const { id } = await ada.account.members.add({ id: connection, body })
    return { connection, id, body }
  }

  const mailboxOf = async (person: Person) => (await orgs.addresses(person))[0]!

  /** Signs in on a further device of a person. */
  async function waiting(person: Person) {
    const { server } = orgs.subject
    return join(server, await mailedCode(server, await mailboxOf(person)))
  }

  const newGroup = (ada: Owner) => ada.account.orgGroups.create({ body: { name: 'Sales' } })

  type Row = readonly [
    what: string,
    hers: Lists,
    his: Lists,
    prepare: (ada: Person, bob: Person) => Promise<() => Promise<unknown>>,
  ]

  /** The changes of the lists of two people. */
  const rows: readonly Row[] = [
    [
      'an account is invited',
      ['invitations'],
      ['invitations', 'notifications'],
      async (ada, bob) => () => invited(ada, bob),
    ],
    [
      'a mailbox is invited',
      ['invitations'],
      ['invitations', 'notifications'],
      async (ada, bob) => () => invited(ada, bob, 'mailbox'),
    ],
    [
      'an invitation is repeated later',
      ['invitations'],
      ['invitations'],
      async (ada, bob) => {
        const { connection, body } = await invited(ada, bob)
        orgs.later(1)
        return () => ada.account.members.add({ id: connection, body })
      },
    ],
    [
      'an invitation is approved',
      ['invitations', 'notifications'],
      ['invitations', 'notifications'],
      async (ada, bob) => {
        const invitation = await invited(ada, bob, 'mailbox')
        return () => approveInvitation(bob, invitation)
      },
    ],
    [
      'an invitation is declined',
      ['invitations', 'notifications'],
      ['invitations', 'notifications'],
      async (ada, bob) => {
        const { id } = await invited(ada, bob, 'mailbox')
        return () => bob.account.invitations.decline({ id })
      },
    ],
    [
      'an invitation is withdrawn',
      ['invitations'],
      ['invitations', 'notifications'],
      async (ada, bob) => {
        const { id } = await invited(ada, bob)
        return () => ada.account.invitations.withdraw({ id })
      },
    ],
    [
      'an invited person is removed from a connection',
      ['invitations'],
      ['invitations', 'notifications'],
      async (ada, bob) => {
        const { connection } = await invited(ada, bob)
        return () => ada.account.members.remove({ id: connection, mid: bob.id })
      },
    ],
    [
      'an account is added, which hides the invitations of its mailbox',
      ['invitations'],
      ['invitations', 'notifications'],
      async (ada, bob) => {
        const { connection } = await invited(ada, bob, 'mailbox')
        await approved(ada, connection, bob)
        return () => make(ada, connection, { op: 'add', member: bob.id })
      },
    ],
    [
      'an owner who has invited is removed, and the connection ended',
      ['invitations', 'notifications'],
      ['invitations'],
      async (ada, bob) => {
        const { id: connection } = await connect(bob, 'Club')
        await joinMember(bob, connection, ada)
        await make(bob, connection, { op: 'role', member: ada.id, role: 'owner' })
        for (const { account } of [ada, bob]) {
          const body = { email: newAddress() }
          await account.members.add({ id: connection, body })
        }
        return async () => {
          await make(bob, connection, { op: 'role', member: ada.id, role: 'member' })
          await make(bob, connection, { op: 'remove', member: ada.id })
          await make(bob, connection, { op: 'end' })
        }
      },
    ],
    [
      'a connection with a declined invitation is deleted',
      ['invitations'],
      ['invitations'],
      async (ada, bob) => {
        const { connection, id } = await invited(ada, bob)
        await bob.account.invitations.decline({ id })
        return () => ada.account.connections.delete({ id: connection })
      },
    ],
    [
      'the last member leaves a connection with a declined invitation',
      ['invitations'],
      ['invitations'],
      async (ada, bob) => {
        const { connection, id } = await invited(ada, bob)
        await bob.account.invitations.decline({ id })
        return () => make(ada, connection, { op: 'end' })
      },
    ],
    [
      'a person who invited has another name',
      ['invitations'],
      ['invitations'],
      async (ada, bob) => {
        await invited(ada, bob)
        return () => ada.account.profile.update({ body: { display_name: 'Augusta' } })
      },
    ],
    [
      'an invited mailbox is confirmed',
      [],
      ['invitations', 'notifications'],
      async (ada, bob) => {
        const email = newAddress()
        const { id } = await connect(ada, 'Club')
        await ada.account.members.add({ id, body: { email } })
        const { token } = await orgs.claimed(bob, email)
        return () => orgs.confirm(token)
      },
    ],
    [
      'a request at an open link is not confirmed yet',
      [],
      [],
      async (ada) => async () => void (await asking(ada)),
    ],
    [
      'a request at an open link is confirmed',
      ['open_link_requests', 'notifications'],
      [],
      async (ada) => (await asking(ada)).confirm,
    ],
    [
      'a request at an open link is declined',
      ['open_link_requests', 'notifications'],
      [],
      async (ada) => {
        const { id } = await asked(ada)
        return () => ada.account.openLinkRequests.decline({ id })
      },
    ],
    [
      'a request at an open link is approved',
      ['invitations', 'open_link_requests', 'notifications'],
      ['invitations', 'notifications'],
      async (ada, bob) => {
        const { id, email } = await asked(ada, await mailboxOf(bob))
        const body = { ...(await opening(ada)), open_link_request: id, invite: [{ email }] }
        return () => ada.account.rosters.open({ body })
      },
    ],
    [
      'an open link is deleted',
      ['open_link_requests', 'notifications'],
      [],
      async (ada) => {
        const { link } = await asked(ada)
        return () => ada.account.openLinks.delete({ id: link })
      },
    ],
    [
      'notifications are marked as read',
      [],
      ['notifications'],
      async (ada, bob) => {
        await invited(ada, bob)
        return () => bob.account.notifications.read({ body: {} })
      },
    ],
    [
      'notifications are marked as read again',
      [],
      [],
      async (ada, bob) => {
        await invited(ada, bob)
        await bob.account.notifications.read({ body: {} })
        return () => bob.account.notifications.read({ body: {} })
      },
    ],
    [
      'notifications are deleted',
      [],
      ['notifications'],
      async (ada, bob) => {
        await invited(ada, bob)
        return () => bob.account.notifications.delete({})
      },
    ],
    [
      'an export is requested and built',
      ['notifications', 'exports'],
      [],
      async (ada) => () => exported(ada.account),
    ],
    [
      'the exports are deleted',
      ['exports'],
      [],
      async (ada) => {
        await exported(ada.account)
        return () => ada.account.exports.clear({})
      },
    ],
    [
      'an organisation is created',
      ['organisations'],
      [],
      async (ada) => () => ada.account.organisations.create({ body: { name: 'Acme' } }),
    ],
    ['a device begins to wait for approval', ['devices'], [], async (ada) => () => waiting(ada)],
    [
      'a device that waits is declined',
      ['devices'],
      [],
      async (ada) => {
        const { device: id } = await waiting(ada)
        return () => ada.account.devices.delete({ id })
      },
    ],
    [
      'a device that waits is approved',
      ['notifications', 'devices'],
      [],
      async (ada) => {
        const newcomer = await waiting(ada)
        return () => approve(ada, newcomer)
      },
    ],
    [
      'a device has waited for a week when another one of any account signs in',
      ['devices'],
      ['devices'],
      async (ada, bob) => {
        await waiting(ada)
        orgs.later(7 * DAY)
        return () => waiting(bob)
      },
    ],
  ]

  /** The changes of the lists of an owner and a member of an organisation. */
  const ofOrganisations: readonly (readonly [
    what: string,
    hers: Lists,
    his: Lists,
    prepare: (ada: Owner, bob: Person) => Promise<() => Promise<unknown>>,
  ])[] = [
    [
      'a mailbox is invited',
      ['organisations'],
      ['organisations'],
      async (ada) => () => invite(ada, newAddress()),
    ],
    [
      'an invited account joins',
      ['organisations'],
      ['organisations'],
      async (ada) => async () => {
        const carl = await orgs.byMail()
        await invite(ada, await mailboxOf(carl))
        await orgs.renew(carl)
      },
    ],
    [
      'a member is suspended',
      ['organisations'],
      ['notifications', 'organisations'],
      async (ada, bob) => () => suspend(ada, bob.id),
    ],
    [
      'a member is activated',
      ['organisations'],
      ['notifications', 'organisations'],
      async (ada, bob) => {
        await suspend(ada, bob.id)
        return () => activate(ada, bob.id)
      },
    ],
    [
      'a member has a wider role',
      ['organisations'],
      ['notifications', 'organisations'],
      async (ada, bob) => {
        const email = await mailboxOf(bob)
        return () => inviteAll(ada, [{ email, role: 'admin' }])
      },
    ],
    ['a group is made', ['organisations'], ['organisations'], async (ada) => () => newGroup(ada)],
    [
      'a group has another name',
      ['organisations'],
      ['organisations'],
      async (ada) => {
        const { id } = await newGroup(ada)
        return () => ada.account.orgGroups.update({ id, body: { name: 'Support' } })
      },
    ],
    [
      'a group has a new member, and loses it',
      ['organisations'],
      ['organisations'],
      async (ada, bob) => {
        const { id } = await newGroup(ada)
        const body = { member_ids: [bob.id] }
        return async () => {
          await ada.account.orgGroups.addMembers({ id, body })
          await ada.account.orgGroups.removeMembers({ id, body })
        }
      },
    ],
    [
      'a group is deleted',
      ['organisations'],
      ['organisations'],
      async (ada) => {
        const { id } = await newGroup(ada)
        return () => ada.account.orgGroups.delete({ id })
      },
    ],
    [
      'a machine account is created',
      ['organisations'],
      ['organisations'],
      async (ada) => {
        const body = {
          organisation_id: ada.organisation,
          name: 'CI',
          key: newDeviceKeys().auth.jwk,
        }
        return () => ada.account.machines.create({ body })
      },
    ],
    [
      'the account of a member is deleted',
      ['organisations'],
      ['organisations'],
      async (ada) => {
        const carl = await orgs.member(ada, 'member', 'Carl')
        return () => carl.account.account.delete({})
      },
    ],
  ]

  describe(`lists that changed: ${name}`, () => {
    for (const [what, hers, his, prepare] of rows)
      test(`${what}: ${hers.join(', ') || 'nothing'}; ${his.join(', ') || 'nothing'}`, async () => {
        const [ada, bob] = [await orgs.byMail(), await orgs.byMail(newAddress(), 'Bob')]
        const change = await prepare(ada, bob)
        assert.deepEqual(await listsChangedBy([ada, bob], change), [hers, his])
      })

    for (const [what, hers, his, prepare] of ofOrganisations)
      test(`of an organisation: ${what}`, async () => {
        const ada = await orgs.owner()
        const bob = await orgs.member(ada)
        const change = await prepare(ada, bob)
        assert.deepEqual(await listsChangedBy([ada, bob], change), [hers, his])
      })

    test('a large organisation: a change is read by owners and the member concerned', async () => {
      const ada = await orgs.owner()
      const bob = await orgs.member(ada)
      const carl = await orgs.member(ada, 'member', 'Carl')
      const more = Array.from({ length: 500 }, () => newId('mch_', Date.now()))
      const { db } = orgs.hand
      await db
        .insertInto('accounts')
        .values(more.map((id) => ({ id, kind: 'machine' as const, display_name: 'CI' })))
        .execute()
      const member = { role: 'member', state: 'active', joined_at: 1 } as const
      await db
        .insertInto('organisation_members')
        .values(
          more.map((account_id) => ({
            ...member,
            account_id,
            organisation_id: ada.organisation,
            member_id: newId('mem_', Date.now()),
          })),
        )
        .execute()
      const places = await Promise.all(
        [ada, bob, carl].map(({ account }) => account.changes.read({})),
      )
      await suspend(ada, bob.id)
      const lists = await Promise.all(
        [ada, bob, carl].map(async ({ account }, i) => {
          const { lists: changed } = await account.changes.read({ since: places[i]!.since! })
          return changed
        }),
      )
      assert.deepEqual(lists, [['organisations'], ['notifications', 'organisations'], []])
    })

    test('the account of a person who invited is deleted', async () => {
      const [ada, bob, carl] = [await orgs.byMail(), await orgs.byMail(), await orgs.byMail()]
      await invited(ada, bob)
      const { id } = await invited(ada, carl, 'mailbox')
      await carl.account.invitations.decline({ id })
      const people = [ada, bob, carl]
      const changed = await listsChangedBy(people, () => ada.account.account.delete({}), [ada])
      assert.deepEqual(changed, [[], ['invitations', 'notifications'], ['invitations']])
    })

    test('an invitation expires', async () => {
      const [ada, bob] = [await orgs.byMail(), await orgs.byMail()]
      const { id } = await invited(ada, bob)
      const { sent } = await ada.account.invitations.list({})
      const end = Date.parse(sent.find((one) => one.id === id)!.expires_at)
      const places = await Promise.all([ada, bob].map(({ account }) => account.changes.read({})))
      const changed = () =>
        Promise.all(
          [ada, bob].map(async ({ account }, i) => {
            const { lists } = await account.changes.read({ since: places[i]!.since! })
            return lists
          }),
        )
      orgs.subject.clock.ms = end - 1
      assert.deepEqual(await changed(), [[], []])
      orgs.subject.clock.ms = end
      assert.deepEqual(await changed(), [['invitations'], ['invitations']])
      const after = await ada.account.changes.read({ since: places[0]!.since! })
      assert.deepEqual((await ada.account.changes.read({ since: after.since! })).lists, [])
    })

    test('an approved invitation expires a day later', async () => {
      const [ada, bob] = [await orgs.byMail(), await orgs.byMail()]
      const invitation = await invited(ada, bob)
      await approveInvitation(bob, invitation)
      const [sent] = (await ada.account.invitations.list({})).sent
      const { since } = await ada.account.changes.read({})
      const lists = async () => (await ada.account.changes.read({ since: since! })).lists
      orgs.subject.clock.ms = Date.parse(sent!.expires_at) + DAY - 1
      assert.deepEqual(await lists(), [])
      orgs.subject.clock.ms += 1
      assert.deepEqual(await lists(), ['invitations'])
    })

    test('an account without marks of lists, as after an upgrade, gets them', async () => {
      const [ada, bob] = [await orgs.byMail(), await orgs.byMail()]
      const none = Object.fromEntries(SYNC_LISTS.map((list) => [list, 0]))
      const reset = () =>
        orgs.hand.db.updateTable('sync_marks').set(none).where('account_id', '=', ada.id).execute()
      await reset()
      const { since } = await ada.account.changes.read({})
      const listsSince = async () => (await ada.account.changes.read({ since: since! })).lists
      assert.deepEqual(await listsSince(), [])
      await invited(ada, bob)
      assert.deepEqual(await listsSince(), ['invitations'])
      // Another migration of a backup.
      await reset()
      assert.deepEqual(await listsSince(), [...SYNC_LISTS])
    })

    // A device of an earlier version rejects an answer with an unknown name in `changed`.
    test('an answer names the lists in a field of their own', async () => {
      const ada = await orgs.byMail()
      const { changed, lists } = await ada.account.changes.read({})
      assert.deepEqual(lists, [...SYNC_LISTS])
      assert.deepEqual(changed, [
        'key_log',
        'connections',
        'guest_codes',
        'duties',
        'trust_cards',
        'public_code',
      ])
    })
  })
}
