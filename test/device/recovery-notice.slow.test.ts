/**
 * Tests a recovery key that a thief’s device set.
 * The other devices of the account report it until the user dismisses it, also after the device
 * was revoked. Their statements about contacts are true.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { devices } from '../../src/handlers/account.ts'
import { localAnswers } from '../../src/handlers/local.ts'
import { status } from '../../src/handlers/status.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { at, confirmAt } from '../world/requests.ts'
import { confirm } from './named.ts'
import { type DeviceUser, newPaper, newWorld, worldOf } from '../world/world.ts'

/** Returns Bob with a phone; both devices have synced. */
async function twoDevices(t: TestContext) {
  const world = await newWorld(t)
  const bob = await world.person('bob')
  const phone = await world.further(bob, 'phone')
  for (const user of [phone, bob]) await user.sync()
  return { world, bob, phone }
}

const none = () => assert.fail('no backup is made')
const local = localAnswers(none, none)

const dismiss = (user: DeviceUser) => local.recovery.dismiss({}, at(user))

const noticed = async (user: DeviceUser) => (await status.read({}, at(user))).notices

describe('a recovery key that another device sets', () => {
  it('is reported on each other device until it is dismissed there', async (t) => {
    const { world, bob, phone } = await twoDevices(t)
    const laptop = await world.further(bob, 'desk')
    await laptop.sync()
    await newPaper(phone)
    for (const other of [bob, laptop]) {
      await other.sync()
      const [notice, ...more] = await noticed(other)
      assert.match(
        notice ?? '',
        /^The device "phone's" \(dev_\w+\) set a recovery key on 2026-01-01\./,
      )
      assert.match(
        notice ?? '',
        /countersignd recovery dismiss.*If you did not: .*without --recovery-key/,
      )
      assert.deepEqual(more, [])
    }
    await phone.sync()
    assert.deepEqual(await noticed(phone), [])
    assert.match((await dismiss(bob)).dismissed ?? '', /"phone's".* set a recovery key/)
    assert.equal((await dismiss(bob)).dismissed, null)
    await bob.sync()
    assert.deepEqual([(await noticed(bob)).length, (await noticed(laptop)).length], [0, 1])
  })

  it('in place of a dismissed one is reported again', async (t) => {
    const { world, bob, phone } = await twoDevices(t)
    const paper = await newPaper(phone)
    await bob.sync()
    await dismiss(bob)
    await bob.sync()
    assert.deepEqual(await noticed(bob), [])
    world.later(3 * 24 * 60)
    await newPaper(phone, paper)
    await bob.sync()
    assert.match((await noticed(bob))[0] ?? '', /set a recovery key on 2026-01-04/)
  })

  it('is no longer reported after this device set another, or the account was reset', async (t) => {
    const { world, bob, phone } = await twoDevices(t)
    const paper = await newPaper(phone)
    await bob.sync()
    await newPaper(bob, paper)
    await bob.sync()
    assert.deepEqual(await noticed(bob), [])
    const anew = await world.reset('bob')
    await anew.sync()
    assert.doesNotMatch((await noticed(anew)).join(), /recovery key/)
  })

  it('is dated after the last good sync, regardless of the time in its entry', async (t) => {
    const { world, bob, phone } = await twoDevices(t)
    world.later(40 * 24 * 60)
    await bob.sync()
    world.clock.ms -= 30 * 24 * 3_600_000
    await newPaper(phone)
    world.clock.ms += 30 * 24 * 3_600_000
    await bob.sync()
    assert.match((await noticed(bob))[0] ?? '', /on 2026-02-10\./)
  })
})

describe('revoking the device that set the recovery key in force', () => {
  it('warns that the key stays in force, and no other revocation does', async (t) => {
    const { world, bob, phone } = await twoDevices(t)
    const laptop = await world.further(bob, 'desk')
    await newPaper(phone)
    const revoke = (id: string) => devices.delete({ id }, at(bob))
    await revoke(laptop.deviceId)
    assert.doesNotMatch((await noticed(bob)).join(), /is revoked by now/)
    for (let times = 0; times < 2; times++) {
      await revoke(phone.deviceId)
      assert.match(
        (await noticed(bob))[0] ?? '',
        /has since been revoked. The key is still in force/,
      )
    }
  })

  it('keeps a reset with that key accepted by contacts, except by those who confirmed a reset without it', async (t) => {
    const { world, ada, cy, bob } = await worldOf(t, 'ada', 'cy', 'bob')
    const phone = await world.further(bob, 'phone')
    const paper = await newPaper(phone)
    for (const contact of [ada, cy]) await confirm(contact, bob)
    await bob.revoke(phone.deviceId)
    const anew = await world.reset('bob')
    await newPaper(anew)
    world.later(2 * 60)
    await ada.sync()
    await confirmAt(ada, bob.id)
    await world.reset('bob', paper)
    world.later(2 * 60)
    for (const contact of [ada, cy]) await contact.sync()
    const statuses = await Promise.all(
      [ada, cy].map(async (contact) => (await trustCards.list({ limit: 1 }, at(contact))).items[0]),
    )
    assert.deepEqual(
      statuses.map((card) => [card?.key_status, card?.recovery_key_unused]),
      [
        ['changed_unverified', true],
        ['confirmed', false],
      ],
    )
  })
})
