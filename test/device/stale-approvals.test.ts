/**
 * Tests approvals and replacements that are no longer valid, with an honest server.
 * Nothing else becomes uncertain by them.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { openConnection } from '../../src/device/connections/connections.ts'
import { type DeviceUser, connected, consentFor, isIn, worldOf } from '../world/world.ts'
import { instead } from '../world/interceptor.ts'

/** Runs a sync that may report something, and counts as successful. */
async function goodSync(user: DeviceUser): Promise<string> {
  const { ok, error } = await user.device().sync.run('timer')
  assert(ok, error ?? '')
  return error ?? ''
}

describe('an approval that is no longer valid', () => {
  it('since the signing phone was revoked: reported, and another approval adds the account', async (t) => {
    const { world, ada, eve } = await worldOf(t, 'ada', 'eve')
    const id = await ada.connect()
    const phone = await world.further(eve, 'phone')
    await ada.invite(id, { user_id: eve.id })
    await phone.approve()
    await eve.revoke(phone.deviceId)
    assert.match(await goodSync(ada), /is not valid \(consent_log\).*approve the invitation again/)
    assert(!isIn(ada, id, eve))
  })

  it('for an unknown roster entry: other connections stay conclusive', async (t) => {
    const { world, ada, bob, eve } = await worldOf(t, 'ada', 'bob', 'eve')
    const other = await connected(ada, bob)
    const id = await ada.connect('Trap')
    await ada.invite(id, { user_id: eve.id })
    const consent = await consentFor(eve, ada, id, randomBytes(32))
    // An honest server refuses it.
    const joins = [{ connection: id, account: eve.id, email: null, consent }]
    const lied = ada.restart(
      instead('duties', 'read', (honest) => async (of) => ({ ...(await honest(of)), joins })),
    )
    assert.match(await goodSync(lied), /is not valid \(consent_stale\)/)
    world.later(8 * 24 * 60)
    await goodSync(lied)
    await bob.sync()
    const { verified, conclusive } = await lied.hears(bob.words(other))
    assert.deepEqual([verified, conclusive], [true, true])
  })
})

it('a replacement by a lost device is not followed, and suspends nothing', async (t) => {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const id = await connected(bob, ada)
  const phone = await world.further(bob, 'phone')
  for (const user of [phone, bob, ada]) await user.sync()
  const wanted = { name: 'Bank', invite: [{ user_id: ada.id }], preset_id: null, replaces: id }
  const act = { id: randomBytes(16), at: world.clock.ms }
  await openConnection(phone.device(), phone.account(), wanted, act)
  await bob.revoke(phone.deviceId)
  world.later(61)
  assert.equal(await goodSync(ada), '')
})
