/**
 * Tests the public code when devices leave the account.
 * A revoked or replaced device cannot pretend to be its owner.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  followCode,
  isPublicCodeActive,
  publicWords,
  shareCode,
} from '../../../src/device/codes/public-code.ts'
import { preferences, profile } from '../../../src/handlers/account.ts'
import { at } from '../../world/requests.ts'
import { newWorld, type DeviceUser } from '../../world/world.ts'
import { instead } from '../../world/interceptor.ts'

const switchOn = (user: DeviceUser) => preferences.update({ body: { public_code: true } }, at(user))
const isOn = async (user: DeviceUser) => (await user.account().preferences.read({})).public_code
const secretOf = async (user: DeviceUser) => (await user.account().publicCode.read({})).k
/** Returns the words that the device would show, independently of the account server. */
const wordsOf = (user: DeviceUser) => publicWords(user.device(), user.device().now())

/** Returns Ada with two devices that have the secret of her public code. */
async function spoken(t: TestContext) {
  const world = await newWorld(t)
  const ada = await world.person('ada')
  const laptop = await world.further(ada, 'laptop')
  await switchOn(ada)
  assert.equal(await followCode(laptop.device(), laptop.account()), true)
  assert.deepEqual(await wordsOf(laptop), await wordsOf(ada))
  return { world, ada, laptop, old: await secretOf(ada) }
}

describe('the public code after its account revokes a device', () => {
  it('is off, and has another secret when it is switched on again', async (t) => {
    const { ada, laptop, old } = await spoken(t)
    await ada.revoke(laptop.deviceId)
    assert.deepEqual([await isOn(ada), await secretOf(ada)], [false, null])
    assert.equal((await profile.read({}, at(ada))).public_code, null)
    assert.deepEqual([isPublicCodeActive(ada.device()), await wordsOf(ada)], [false, null])
    await switchOn(ada)
    const secret = await secretOf(ada)
    assert.notEqual(secret, null)
    assert.notEqual(secret, old)
    const { public_code: own } = await profile.read({}, at(ada))
    assert.notEqual(own, null)
    // The secret on the revoked device gives no valid words.
    assert.notEqual((await wordsOf(laptop))?.words, own?.words)
  })

  it('is deleted on other devices when they sync, and shared again by the device that switches it on', async (t) => {
    const { world, ada, laptop, old } = await spoken(t)
    const phone = await world.further(ada, 'phone')
    assert.equal(await followCode(phone.device(), phone.account()), true)
    await ada.revoke(laptop.deviceId)
    assert.equal(isPublicCodeActive(ada.device()), false)
    assert.equal(isPublicCodeActive(phone.device()), true)
    await phone.sync()
    assert.deepEqual([isPublicCodeActive(phone.device()), await wordsOf(phone)], [false, null])
    // A secret that was shared but not switched on is not reused either.
    const shared = await shareCode(phone.account())
    assert.notEqual(Buffer.from(shared).toString('base64url'), old)
    assert.notDeepEqual(await shareCode(phone.account()), shared)
    await switchOn(phone)
    assert.equal(await followCode(ada.device(), ada.account()), true)
    assert.deepEqual(await wordsOf(ada), await wordsOf(phone))
  })

  it('is off after a reset', async (t) => {
    const { world, old } = await spoken(t)
    const anew = await world.reset('ada')
    assert.deepEqual([await isOn(anew), await secretOf(anew)], [false, null])
    assert.equal((await profile.read({}, at(anew))).public_code, null)
    await switchOn(anew)
    assert.notEqual(await secretOf(anew), old)
  })

  it('stays on if it was switched on while a sync received that it is off', async (t) => {
    const { ada } = await spoken(t)
    let isPublicRead = false
    const slow: DeviceUser = ada.restart(
      instead('publicCode', 'read', (read) => async (of) => {
        if (isPublicRead) return read(of)
        isPublicRead = true
        await ada.account().preferences.update({ body: { public_code: false } })
        const answer = await read(of)
        await switchOn(slow)
        return answer
      }),
    )
    await slow.sync()
    assert.equal(isPublicCodeActive(slow.device()), true)
    assert.notEqual(await wordsOf(slow), null)
  })
})
