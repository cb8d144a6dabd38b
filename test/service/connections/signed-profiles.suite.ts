/** Signed names at an account server: what it accepts, returns and rejects. For every engine. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { signProfile } from '../../../src/crypto/logs/profile.ts'
import { connected } from './connecting.ts'
import { enrol, type Person } from '../person.ts'
import type { Rosters } from './rosters-subject.ts'
import { rejects } from '../../rejects.ts'

const profileOf = ({ id, device, kid, keys }: Person, n: number, name: string) =>
  signProfile({ account: id, device, n, name, kid, seed: keys.sign.secret })

const give = ({ account }: Person, profile: string) =>
  account.signedProfiles.give({ body: { profile } })

export function signedProfilesSuite(rosters: () => Rosters): void {
  let { server } = {} as Rosters
  before(() => {
    ;({ server } = rosters())
  })

  describe('signed names', () => {
    test('are returned with key log and roster, and update the connections', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const seen = async () => (await ada.account.connections.read({ id })).updated_at
      const earlier = await seen()
      const profile = profileOf(bob, 1, 'Robert')
      await give(bob, profile)
      assert.notEqual(await seen(), earlier)
      assert.equal((await ada.account.keyLogs.read({ account: bob.id })).profile, profile)
      const { key_logs } = await ada.account.rosters.read({ connection: id })
      const given = new Map(key_logs.map((row) => [row.account, row.profile]))
      assert.deepEqual([given.get(bob.id), given.get(ada.id)], [profile, undefined])
      assert.equal((await bob.account.profile.read({})).display_name, 'Robert')
    })

    test('can be repeated; an older one, or an unsigned change of the name, is rejected', async () => {
      const bob = await enrol(server)
      const profile = profileOf(bob, 2, 'Robert')
      await give(bob, profile)
      await give(bob, profile)
      await rejects('conflict', give(bob, profileOf(bob, 1, 'Bob')))
      await rejects('no_device', bob.account.profile.update({ body: { display_name: 'Bob' } }))
      await bob.account.profile.update({ body: { headline: 'At home' } })
      await give(bob, profileOf(bob, 3, 'Bob'))
      assert.equal((await bob.account.profile.read({})).display_name, 'Bob')
    })

    test('of another account, with a wrong signature, or unreadable are rejected', async () => {
      const [ada, bob] = [await enrol(server), await enrol(server)]
      for (const profile of [
        profileOf(ada, 1, 'Ada'),
        profileOf({ ...bob, keys: ada.keys }, 1, 'Bob'),
        profileOf(bob, 1, 'a\u202eb'),
        ada.entry,
      ])
        await rejects('validation_failed', give(bob, profile))
      assert.equal((await ada.account.keyLogs.read({ account: bob.id })).profile, undefined)
    })

    test('can change fifty times a day', async () => {
      const bob = await enrol(server)
      for (let n = 1; n <= 50; n++) await give(bob, profileOf(bob, n, `Bob ${n}`))
      await rejects('rate_limited', give(bob, profileOf(bob, 51, 'Bob')))
    })

    test('are deleted with the account', async () => {
      const [ada, bob] = [await enrol(server), await enrol(server)]
      await give(bob, profileOf(bob, 1, 'Robert'))
      await bob.account.account.delete({})
      await rejects('not_found', ada.account.keyLogs.read({ account: bob.id }))
    })
  })
}
