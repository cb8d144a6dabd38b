/**
 * Tests a connection that this device has not stored, although it has the secret, because of a
 * crash. If the account server then sends a roster that is refused, the secret has no epoch here.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rotateNow } from '../../../src/device/connections/members.ts'
import { connections } from '../../../src/handlers/connections.ts'
import { rejects } from '../../rejects.ts'
import { away, instead, losing } from '../../world/interceptor.ts'
import { honest, lied, showing } from '../../world/lies.ts'
import { at } from '../../world/requests.ts'
import { connected, type DeviceUser, verifies, worldOf } from '../../world/world.ts'

/** Checks that the device has the secret, but neither makes nor checks words with it. */
async function assertUnused(user: DeviceUser, id: string, words: string): Promise<void> {
  assert(user.device().vault.has(id))
  assert.equal(user.words(id), null)
  const { message } = await rejects('secret_unavailable', connections.code({ id }, at(user)))
  assert.match(message, /^Data from the account server for "Bank" was refused/)
  const { verified, conclusive, reasons } = await user.hears(words)
  assert.deepEqual([verified, conclusive, reasons], [false, false, ['secret_missing']])
  const { secret_here } = await connections.read({ id }, at(user))
  assert.equal(secret_here, false)
}

describe('the secret of a connection that was refused when it was first listed', () => {
  it('makes and checks no words after a rotation by a new device and a rollback', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const phone = await world.further(ada, 'phone')
    await phone.sync()
    const id = await connected(ada, bob)
    const cut = phone.restart(instead('connections', 'read', () => away))
    await rejects('backend_unavailable', rotateNow(cut.device(), cut.account(), id))
    await bob.sync()
    const { lied: shown, error } = await lied(
      cut,
      showing((entries) => entries.slice(0, -1)),
    )
    assert.match(error, /refused \(rollback\)/)
    await assertUnused(shown, id, bob.words(id)!)
    const back = await honest(shown)
    assert(await verifies(back, bob, id))
    assert(await verifies(bob, back, id))
  })

  it('makes and checks no words after the answer to its creation was lost', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    await ada.sync()
    const cut = ada.restart(instead('rosters', 'open', losing(1)))
    await rejects('backend_unavailable', cut.connect())
    const { items } = await connections.list({ limit: 50 }, at(cut))
    const { id } = items[0] ?? assert.fail('the account server created it')
    const { lied: shown, error } = await lied(
      cut,
      showing(() => []),
    )
    assert.match(error, /refused \(empty\)/)
    await assertUnused(shown, id, 'matador carload recede')
    const back = await honest(shown)
    assert.notEqual(back.words(id), null)
  })
})
