/**
 * Connections and their members as an account server stores them. Includes the suites of
 * invitations. For every engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { serverName } from '../../../src/api/rest/names.ts'
import type { Account } from '../../../src/api/port.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { approveInvitation, approved, changeBy, connected, make, joinMember } from './connecting.ts'
import { invite, members, openClubs, received, sent, type Clubs } from './connections-subject.ts'
import { invitationAnswersSuite } from './invitation-answers.suite.ts'
import { invitationsSuite } from './invitations.suite.ts'
import { addressOf, arrived, enrol, newAddress, opening } from '../person.ts'
import type { Place } from '../subject.ts'
import { rejects } from '../../rejects.ts'

export function connectionsSuite(
  name: string,
  { newPlace }: { newPlace: () => Promise<Place> },
): void {
  describe(`connections: ${name}`, () => {
    let clubs: Clubs
    let { server, hand, ada, bob, carl, owner, letters, club } = {} as Clubs
    before(async () => {
      clubs = await openClubs(newPlace)
      ;({ server, hand, ada, bob, carl, owner, letters, club } = clubs)
    })
    after(() => clubs.close())

    invitationsSuite(() => clubs)
    invitationAnswersSuite(() => clubs)

    describe('members', () => {
      test('an owner removes a member who is only invited, without signing', async () => {
        const id = await club()
        await joinMember(ada, id, owner, 'owner')
        for (const answer of [false, true]) {
          const { id: invitation } = await invite(ada, id, bob)
          if (answer) await approveInvitation(bob, { id: invitation })
          await owner.account.members.remove({ id, mid: bob.id })
          assert.deepEqual((await received(bob, id))[0]?.state, 'withdrawn')
          assert.equal((await members(ada, id)).length, 2)
          await rejects('not_found', owner.account.members.remove({ id, mid: bob.id }))
        }
      })

      test('any owner removes an invited mailbox by the id in the list of members', async () => {
        const [id, other] = [await club(), await club()]
        await joinMember(ada, id, owner, 'owner')
        await joinMember(ada, id, carl)
        const email = newAddress()
        const { id: invitation } = await invite(ada, id, email)
        const listed = await members(owner, id)
        assert.deepEqual(listed.at(-1), {
          id: invitation,
          user_id: null,
          ...serverName(email),
          role: 'member',
          state: 'invited',
        })
        for (const { id: mid, user_id } of listed) if (user_id !== null) assert.equal(mid, user_id)
        await rejects('forbidden', carl.account.members.remove({ id, mid: invitation }))
        await rejects('not_found', ada.account.members.remove({ id: other, mid: invitation }))
        assert.equal((await sent(ada, id))[0]?.state, 'pending')
        await owner.account.members.remove({ id, mid: invitation })
        assert.equal((await sent(ada, id))[0]?.state, 'withdrawn')
        assert.equal((await members(ada, id)).length, 3)
        await rejects('not_found', owner.account.members.remove({ id, mid: invitation }))
      })

      test('removing an active member needs a device and the role of owner', async () => {
        const id = await club()
        await joinMember(ada, id, carl)
        await rejects('no_device', ada.account.members.remove({ id, mid: carl.id }))
        for (const person of [ada, carl])
          await rejects('no_device', person.account.members.remove({ id, mid: person.id }))
        await rejects('forbidden', carl.account.members.remove({ id, mid: ada.id }))
        await rejects('not_found', bob.account.members.remove({ id, mid: ada.id }))
        for (const mid of ['x', bob.id, newId('acc_', Date.now())])
          await rejects('not_found', ada.account.members.remove({ id, mid }))
      })

      test('an invited mailbox cannot be removed by the account id behind it', async () => {
        const id = await club()
        await invite(ada, id, await addressOf(carl))
        await rejects('not_found', ada.account.members.remove({ id, mid: carl.id }))
      })
    })

    describe('connections', () => {
      test('two members are direct, named after the inviter; more members are a group with its own name', async () => {
        const id = await club()
        await joinMember(ada, id, bob)
        const theirs = await bob.account.connections.read({ id })
        assert.deepEqual([theirs.name, theirs.kind, theirs.state], ['Ada', 'direct', 'active'])
        assert.deepEqual(
          new Set(theirs.members.map(({ user_id, role, state }) => `${user_id} ${role} ${state}`)),
          new Set([`${ada.id} owner active`, `${bob.id} member active`]),
        )
        await invite(ada, id, carl)
        assert.equal((await bob.account.connections.read({ id })).kind, 'group')
        await approved(ada, id, carl)
        await make(ada, id, { op: 'add', member: carl.id })
        assert.equal((await carl.account.connections.read({ id })).name, 'Club')
        await bob.account.connections.update({ id, body: { name: 'Chess' } })
        assert.equal((await ada.account.connections.read({ id })).name, 'Club')
      })

      test('the only member ends a connection and deletes its invitations', async () => {
        const id = await club()
        await invite(ada, id, bob)
        await invite(ada, id, newAddress())
        await rejects('not_found', bob.account.connections.delete({ id }))
        await ada.account.connections.delete({ id })
        assert.deepEqual([await sent(ada, id), await received(bob, id)], [[], []])
        const tables = ['invitations', 'roster_entries', 'envelopes', 'memberships'] as const
        for (const table of tables)
          assert.deepEqual(
            await hand.db.selectFrom(table).selectAll().where('connection_id', '=', id).execute(),
            [],
          )
        await rejects('not_found', ada.account.connections.delete({ id }))
      })

      test('a connection with other members is not deleted without a signed entry', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        for (const { account } of people)
          await rejects('no_device', account.connections.delete({ id }))
      })

      test('after its owner ends it, the others see it as ended until they delete it, without signing', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl', 'Dora'])
        const [ada, bob, carl, dora] = people
        const outside = await enrol(server, 'Eve')
        await invite(ada, id, outside)
        await make(bob, id, { op: 'leave' })
        const change = await changeBy(ada, id, { op: 'end' })
        const append = () => ada.account.rosters.append(change)
        const placed = await append()
        assert.deepEqual(await append(), placed, 'the same entry again is answered as before')
        await rejects('not_found', ada.account.connections.read({ id }))
        assert.deepEqual(
          (await received(outside, id)).map(({ state }) => state),
          ['withdrawn'],
        )
        for (const person of [carl, dora]) {
          const listed = (await person.account.connections.list({})).items
          assert.deepEqual(
            listed.map((one) => [one.id, one.state]),
            [[id, 'ended']],
          )
          assert.deepEqual(await person.account.duties.read({}), { joins: [], unsealed: [] })
          await person.account.connections.delete({ id })
          await rejects('not_found', person.account.connections.delete({ id }))
        }
        const left = hand.db.selectFrom('connections').select('id').where('id', '=', id)
        assert.deepEqual(await left.execute(), [])
      })

      test('opening with invitations can be repeated; one wrong invitation rejects the whole request', async () => {
        const eve = await enrol(server, 'Eve')
        const email = newAddress()
        const body = {
          ...(await opening(eve)),
          invite: [{ user_id: bob.id }, { email }, { user_id: bob.id }],
        }
        const made = await eve.account.rosters.open({ body })
        assert.deepEqual(
          made.members.map(({ user_id, state }) => [user_id, state]),
          [
            [eve.id, 'active'],
            [bob.id, 'invited'],
            [null, 'invited'],
          ],
        )
        assert.deepEqual(await eve.account.rosters.open({ body }), made)
        await arrived(server, email, /invites/)
        assert.equal((await letters(email)).length, 1)
        const bad = {
          ...(await opening(eve)),
          invite: [{ email: newAddress() }, { user_id: eve.id }],
        }
        await rejects('invalid_state', eve.account.rosters.open({ body: bad }), { state: 'self' })
        assert.equal((await eve.account.connections.list({})).items.length, 1)
        assert.equal((await eve.account.invitations.list({})).sent.length, 2)
        assert.deepEqual(await letters(bad.invite[0]!.email!), [])
      })

      test('strangers and former members get not_found', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
        const [ada, bob, carl] = people
        const eve = await enrol(server)
        await make(bob, id, { op: 'leave' })
        await make(ada, id, { op: 'remove', member: carl.id })
        const calls: ((of: Account) => Promise<unknown>)[] = [
          (of) => of.connections.read({ id }),
          (of) => of.connections.update({ id, body: { name: 'x' } }),
          (of) => of.connections.favorite({ id, body: {} }),
          (of) => of.connections.delete({ id }),
          (of) => of.members.add({ id, body: { user_id: ada.id } }),
          (of) => of.members.remove({ id, mid: ada.id }),
          (of) => of.rosters.read({ connection: id }),
          (of) => of.envelopes.read({ connection: id }),
        ]
        for (const person of [bob, carl, eve]) {
          for (const call of calls) await rejects('not_found', call(person.account))
          const { items } = await person.account.connections.list({})
          assert.deepEqual(items, [])
          const duties = await person.account.duties.read({})
          assert.deepEqual(duties, { joins: [], unsealed: [] })
        }
      })
    })
  })
}
