/** The pending work that an account server lists for devices. For every engine. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { readConsent } from '../../../src/crypto/logs/consent.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { approveInvitation, approved, connected, make } from './connecting.ts'
import { enrol, enrolByMail, newAddress, type Person } from '../person.ts'
import type { Rosters } from './rosters-subject.ts'

export function dutiesSuite(rosters: () => Rosters): void {
  let { server, hand } = {} as Rosters
  before(() => {
    ;({ server, hand } = rosters())
  })

  describe('duties', () => {
    test('the server lists joins for the owner who invited, and only while an approval is pending', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const email = newAddress()
      const [carl, dora] = [await enrol(server), await enrolByMail(server, email)]
      const joins = async ({ account }: Person) =>
        (await account.duties.read({})).joins.map(({ consent, ...join }) => {
          assert.equal(readConsent(consent).account, join.account)
          return join
        })
      const asked = await ada.account.members.add({ id, body: { email } })
      await ada.account.members.add({ id, body: { user_id: carl.id } })
      assert.deepEqual(await joins(ada), [])
      await approveInvitation(dora, { id: asked.id })
      await approved(ada, id, carl)
      const byAccount = (list: Awaited<ReturnType<typeof joins>>) =>
        list.toSorted((a, b) => (a.account < b.account ? -1 : 1))
      const ofDora = { connection: id, account: dora.id, email }
      const wanted = byAccount([{ connection: id, account: carl.id, email: null }, ofDora])
      assert.deepEqual(byAccount(await joins(ada)), wanted)
      for (const other of [bob, carl, dora]) assert.deepEqual(await joins(other), [])
      await make(ada, id, { op: 'role', member: bob.id, role: 'owner' })
      assert.deepEqual(await joins(bob), [])
      await make(ada, id, { op: 'add', member: carl.id })
      assert.deepEqual(await joins(ada), [ofDora])
      await make(ada, id, { op: 'add', member: dora.id })
      assert.deepEqual(await joins(ada), [])
    })

    test('the server lists 1,000 connections at once, and the others in the next call', async () => {
      const ada = await enrol(server)
      const ids = Array.from({ length: 1100 }, (_, i) => newId('con_', 1000 + i)).sort()
      const row = { role: 'owner' as const, name: 'x', favorite: 0 as const, updated_at: 1 }
      for (let at = 0; at < ids.length; at += 100) {
        const some = ids.slice(at, at + 100)
        await hand.db
          .insertInto('connections')
          .values(some.map((id) => ({ id, epoch: 1, created_at: 1 })))
          .execute()
        await hand.db
          .insertInto('memberships')
          .values(some.map((id) => ({ ...row, connection_id: id, account_id: ada.id })))
          .execute()
      }
      const devices = [ada.device]
      const named = async () => (await ada.account.duties.read({})).unsealed
      assert.deepEqual(
        await named(),
        ids.slice(0, 1000).map((connection) => ({ connection, devices })),
      )
      await hand.db
        .insertInto('envelopes')
        .values(
          ids.slice(0, 1000).map((connection_id) => {
            return { connection_id, epoch: 1, recipient: ada.device, envelope: '', sender: null }
          }),
        )
        .execute()
      assert.deepEqual(
        await named(),
        ids.slice(1000).map((connection) => ({ connection, devices })),
      )
    })
  })
}
