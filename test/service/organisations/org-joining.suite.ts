/** How an invited mailbox becomes a member, and the mail to its reader, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { Engine } from '../engines.ts'
import {
  type Organisations,
  activate,
  activeOf,
  invite,
  inviteAll,
  listed,
  openOrganisation,
  suspend,
} from './org-members-subject.ts'
import { arrived, enrolled, join, mailedCode, newAddress, type Person } from '../person.ts'
import { rejects } from '../../rejects.ts'
import { until } from '../../until.ts'

const HOUR = 3_600_000

export function orgJoiningSuite(name: string, engine: Engine): void {
  describe(`joining an organisation: ${name}`, () => {
    let orgs: Organisations
    before(async () => {
      orgs = await openOrganisation(engine)
    })
    after(() => orgs.close())

    const organisationsOf = async ({ account }: Pick<Person, 'account'>) =>
      (await account.context.read({})).organisations.map(({ id }) => id)
    const stateOf = async (by: Person, id: string) =>
      (await by.account.orgMembers.read({ id })).state

    describe('an account with the invited mailbox', () => {
      type Way = (address: string, invited: () => Promise<unknown>) => Promise<Person>
      const ways: [what: string, way: Way][] = [
        [
          'signs in for the first time',
          async (address, invited) => {
            await invited()
            return orgs.byMail(address)
          },
        ],
        [
          'signs in again on a device of its own',
          async (address, invited) => {
            const bob = await orgs.byMail(address)
            await invited()
            const { server } = orgs.subject
            return orgs.inside(await enrolled(server, bob, await mailedCode(server, address)))
          },
        ],
        [
          'signs in on a further device',
          async (address, invited) => {
            const bob = await orgs.byMail(address)
            await invited()
            await join(orgs.subject.server, await mailedCode(orgs.subject.server, address))
            return bob
          },
        ],
        [
          'confirms a further address',
          async (address, invited) => {
            const bob = await orgs.byMail()
            await invited()
            await orgs.confirmed(bob, address)
            return bob
          },
        ],
        [
          'renews the session',
          async (address, invited) => {
            const bob = await orgs.byMail(address)
            await invited()
            assert.deepEqual(await organisationsOf(bob), [], 'not by itself')
            await orgs.renew(bob)
            return bob
          },
        ],
      ]
      for (const [what, way] of ways)
        test(`${what}: becomes a member`, async () => {
          const [ada, eve] = [await orgs.owner(), await orgs.owner('Eve', 'Club')]
          const address = newAddress()
          const bob = await way(address, async () => {
            await invite(ada, address)
            await invite(eve, address, 'admin')
          })
          assert.deepEqual(
            (await organisationsOf(bob)).toSorted(),
            [ada.organisation, eve.organisation].toSorted(),
          )
          assert.equal(await activeOf(bob), undefined, 'none is chosen for them')
          for (const [owner, role] of [
            [ada, 'member'],
            [eve, 'admin'],
          ] as const) {
            const all = await listed(owner)
            assert.deepEqual(
              all.map(({ id, state }) => [id, state]),
              [
                [bob.id, 'active'],
                [owner.id, 'active'],
              ],
            )
            assert.equal(all[0]?.role, role)
            assert.deepEqual((await orgs.events(owner.organisation)).at(-1), {
              event: 'member_joined',
              actor: bob.id,
              target: bob.id,
            })
          }
        })

      test('can be activated at once by the inviter', async () => {
        const ada = await orgs.owner()
        const address = newAddress()
        const bob = await orgs.byMail(address, 'Bob')
        const { id } = await invite(ada, address, 'admin')
        const member = await activate(ada, id)
        assert.deepEqual(
          [member.id, member.role, member.state, member.joined_at],
          [bob.id, 'admin', 'active', orgs.time()],
        )
        assert.deepEqual(await organisationsOf(bob), [ada.organisation])
        assert.deepEqual((await orgs.events(ada.organisation)).at(-1), {
          event: 'member_joined',
          actor: ada.id,
          target: bob.id,
        })
        assert.deepEqual(await activate(ada, id), member, 'again')
        assert.equal((await orgs.events(ada.organisation)).length, 2)
      })

      test('does not join by a suspended invitation until it is activated', async () => {
        const ada = await orgs.owner()
        const address = newAddress()
        const { id } = await invite(ada, address, 'admin')
        await suspend(ada, id)
        const bob = await orgs.byMail(address)
        await orgs.renew(bob)
        assert.deepEqual(await organisationsOf(bob), [])
        assert.equal(await stateOf(ada, id), 'suspended')
        assert.deepEqual((await inviteAll(ada, [{ email: address, role: 'owner' }])).skipped, [
          { email: address, reason: 'suspended' },
        ])
        await activate(ada, id)
        assert.deepEqual(await organisationsOf(bob), [ada.organisation])
      })

      test('that joined by an invitation with a narrower role gets the wider role of another', async () => {
        const ada = await orgs.owner()
        const admin = await orgs.member(ada, 'admin')
        const [first, second] = [newAddress(), newAddress()]
        const bob = await orgs.byMail(first)
        await orgs.confirmed(bob, second)
        await invite(ada, first, 'owner')
        const { id } = await invite(admin, second)
        assert.equal((await activate(admin, id)).role, 'member')
        await orgs.renew(bob)
        assert.equal((await ada.account.orgMembers.read({ id: bob.id })).role, 'owner')
      })

      test('with two invited mailboxes is one member, with the wider role', async () => {
        const ada = await orgs.owner()
        const [first, second] = [newAddress(), newAddress()]
        const bob = await orgs.byMail(first)
        await orgs.confirmed(bob, second)
        await inviteAll(ada, [{ email: first }, { email: second, role: 'admin' }])
        await Promise.all([orgs.renew(bob), orgs.renew(bob)])
        const all = await listed(ada)
        assert.deepEqual(
          all.map(({ id, role }) => [id, role]),
          [
            [bob.id, 'admin'],
            [ada.id, 'owner'],
          ],
        )
        const events = (await orgs.events(ada.organisation)).map(({ event }) => event)
        assert.deepEqual(events, ['member_invited', 'member_invited', 'member_joined'])
      })

      test('that is a suspended member stays suspended when another of its mailboxes is invited', async () => {
        const ada = await orgs.owner()
        const bob = await orgs.member(ada)
        await suspend(ada, bob.id)
        const further = newAddress()
        const { id } = await invite(ada, further, 'owner')
        await orgs.confirmed(bob, further)
        assert.equal(await stateOf(ada, bob.id), 'suspended')
        assert.equal((await ada.account.orgMembers.read({ id: bob.id })).role, 'member')
        await rejects('not_found', ada.account.orgMembers.read({ id }))
        assert.equal((await listed(ada)).length, 2)
      })

      test('activating a further invitation of a suspended member needs the same permission, and activates the member', async () => {
        const ada = await orgs.owner()
        const admin = await orgs.member(ada, 'admin')
        const bob = await orgs.member(ada, 'owner')
        const further = newAddress()
        await orgs.confirmed(bob, further)
        // The state after a server stopped between the confirmation and the joining.
        const id = newId('mem_', orgs.subject.clock.ms)
        await orgs.hand.db
          .insertInto('organisation_invites')
          .values({
            id,
            organisation_id: ada.organisation,
            email: further,
            role: 'member',
            state: 'invited',
            created_at: orgs.subject.clock.ms,
          })
          .execute()
        await suspend(ada, bob.id)
        await rejects('forbidden', activate(admin, id))
        assert.equal(await stateOf(ada, id), 'invited', 'nothing half done')
        assert.equal((await activate(ada, id)).id, bob.id)
        assert.equal(await stateOf(ada, bob.id), 'active')
      })
    })

    describe('every state and operation', () => {
      type Begin = (ada: Person & { organisation: string }) => Promise<string>
      const states: Record<string, Begin> = {
        'invited, unconfirmed': async (ada) => (await invite(ada, newAddress())).id,
        'invited, confirmed': async (ada) => {
          const address = newAddress()
          await orgs.byMail(address)
          return (await invite(ada, address)).id
        },
        'suspended invitation, unconfirmed': async (ada) =>
          (await suspend(ada, (await invite(ada, newAddress())).id)).id,
        'suspended invitation, confirmed': async (ada) => {
          const address = newAddress()
          await orgs.byMail(address)
          return (await suspend(ada, (await invite(ada, address)).id)).id
        },
        active: async (ada) => (await orgs.member(ada)).id,
        suspended: async (ada) => {
          const { id } = await orgs.member(ada)
          return (await suspend(ada, id)).id
        },
      }
      const moves = { activate, suspend }
      const table: [state: string, move: keyof typeof moves, becomes: string, written: string][] = [
        ['invited, unconfirmed', 'activate', '409 invited', ''],
        ['invited, unconfirmed', 'suspend', 'suspended', 'member_suspended'],
        ['invited, confirmed', 'activate', 'active', 'member_joined'],
        ['invited, confirmed', 'suspend', 'suspended', 'member_suspended'],
        ['suspended invitation, unconfirmed', 'activate', 'invited', 'member_activated'],
        ['suspended invitation, unconfirmed', 'suspend', 'suspended', ''],
        ['suspended invitation, confirmed', 'activate', 'active', 'member_joined'],
        ['suspended invitation, confirmed', 'suspend', 'suspended', ''],
        ['active', 'activate', 'active', ''],
        ['active', 'suspend', 'suspended', 'member_suspended'],
        ['suspended', 'activate', 'active', 'member_activated'],
        ['suspended', 'suspend', 'suspended', ''],
      ]
      for (const [state, move, becomes, written] of table)
        test(`${state}, ${move}: ${becomes}`, async () => {
          const ada = await orgs.owner()
          const id = await states[state]!(ada)
          const before = await orgs.events(ada.organisation)
          const asked = moves[move](ada, id)
          if (becomes.startsWith('409 ')) {
            await rejects('invalid_state', asked, { state: becomes.slice(4) })
            assert.equal(await stateOf(ada, id), 'invited')
          } else {
            const answer = await asked
            assert.equal(answer.state, becomes)
            assert.deepEqual(await ada.account.orgMembers.read({ id }), answer)
          }
          const events = (await orgs.events(ada.organisation)).slice(before.length)
          assert.deepEqual(
            events.map(({ event, actor }) => [event, actor]),
            written === '' ? [] : [[written, ada.id]],
          )
        })
    })

    describe('invitees are notified', () => {
      const letters = async (address: string) =>
        (await orgs.subject.server.letters(address)).filter(({ subject }) =>
          /An invitation to an organisation/.test(subject),
        )

      test('by a mail that names inviter and steps, the same with and without an account', async () => {
        const ada = await orgs.owner('Ada\u00a0<b>"Bold"</b>', 'www.evil.example </i>')
        const [known, unknown] = [newAddress(), newAddress()]
        const bob = await orgs.byMail(known)
        await inviteAll(ada, [{ email: known }, { email: unknown }])
        const texts = await Promise.all(
          [known, unknown].map((address) => arrived(orgs.subject.server, address, /to an org/)),
        )
        const own = (await ada.account.context.read({})).user.email as string
        for (const { text } of texts) {
          assert.equal(text, texts[0]?.text)
          for (const part of [own, 'countersignd login --email', `"Ada 'b''Bold''/ b'"`])
            assert(text.includes(part), text)
          assert.doesNotMatch(text, /www\.evil\.example/, 'no link of theirs')
        }
        const { items } = await bob.account.notifications.list({ limit: 5 })
        assert.deepEqual(
          items.map(({ kind, data }) => [kind, data]),
          [['org_invited', { organisation_id: ada.organisation }]],
        )
      })

      test('by three mails an hour at most, and not if they declined mails', async () => {
        const [address, quiet] = [newAddress(), newAddress()]
        const bob = await orgs.byMail(quiet)
        await bob.account.preferences.update({ body: { email_notifications: false } })
        for (let i = 0; i < 5; i++) {
          const ada = await orgs.owner()
          await inviteAll(ada, [{ email: address }, { email: quiet }])
        }
        orgs.later(HOUR)
        const last = await orgs.owner()
        await invite(last, address)
        await until('four letters', async () => (await letters(address)).length >= 4)
        assert.equal((await letters(address)).length, 4)
        assert.deepEqual(await letters(quiet), [])
        const { items } = await bob.account.notifications.list({ limit: 10 })
        assert.equal(items.filter(({ kind }) => kind === 'org_invited').length, 5)
      })
    })
  })
}
