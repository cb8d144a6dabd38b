/**
 * Tests a copy of a device’s keys that continues to act as the device.
 * It is detected by the renewals that it signs.
 */
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { copyWarning, markRestored } from '../../src/device/identity/own-keys.ts'
import { renewNow } from '../../src/device/sync/seal-renewal.ts'
import { AppError } from '../../src/errors.ts'
import { openState } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { memoryKeychain } from '../keychain/memory.ts'
import { type DeviceUser, connected, verifies, worldOf } from '../world/world.ts'
import { loggedOf } from './sealing.ts'
import { type Call, rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const DAY = 24 * 60
const AT_WORK =
  /Another copy of this device's keys is in use. Entry \d+ .*"countersignd device revoke dev_/
const RESTORED = /restored from a backup .*renewed it again/

/** Returns a device with the same state and keychain, as a disk image or a backup has them. */
function copyOf(t: TestContext, user: DeviceUser): DeviceUser {
  user.state.db.exec('pragma wal_checkpoint(truncate)')
  const dir = freshFolder(t)
  const from = dirname(user.state.db.location() ?? assert.fail('not in a file'))
  cpSync(from, dir, { recursive: true, filter: (path) => !path.includes('lock') })
  const keychain = memoryKeychain()
  for (const name of ['device', 'session', 'vault']) {
    const secret = user.keychain.get(name)
    if (secret !== null) keychain.set(name, secret)
  }
  const state = openState(dir)
  t.after(() => state.close())
  return user.restart((account) => account, { state, keychain })
}

const restoredFrom = (t: TestContext, user: DeviceUser): DeviceUser => {
  const copy = copyOf(t, user)
  markRestored(copy.state)
  return copy
}

const renew = (user: DeviceUser) => renewNow(user.device(), user.account())
const errorOf = async (user: DeviceUser) => (await user.device().sync.run('request')).error ?? ''
const renewals = async (user: DeviceUser) => (await loggedOf(user)).renewals.length

describe('a renewal by another copy of the keys', () => {
  it('is reported by each sync from then on, also after a restart, and not answered by another renewal', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    await connected(ada, bob)
    const thief = restoredFrom(t, ada)
    await renew(ada)
    assert.equal(copyWarning(ada.state), null)
    await thief.device().sync.run('request')
    assert.equal(await renewals(ada), 2)
    assert.match(await errorOf(ada), AT_WORK)
    assert(ada.logged.some(({ event }) => event.startsWith('another copy of the keys')))
    const again = ada.restart()
    world.later(100 * DAY)
    assert.match(await errorOf(again), AT_WORK)
    assert.equal(await renewals(ada), 2, 'it renewed by itself')
  })

  it('is reported at once by a renewal on demand, and further renewals are rejected', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const thief = copyOf(t, ada)
    await renew(thief)
    const refused = (call: Call) =>
      rejects('invalid_state', call, { state: 'keys_copied', says: AT_WORK })
    await refused(renew(ada))
    const before = await renewals(ada)
    await refused(renew(ada))
    assert.equal(await renewals(ada), before)
  })

  it('is detected if it came between the sync of the log and the own renewal', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    await ada.sync()
    const thief = copyOf(t, ada)
    world.later(90 * DAY)
    let isFirst = true
    const racing = ada.restart(
      instead('keyLogs', 'append', (append) => async (of) => {
        if (isFirst) await renew(thief)
        isFirst = false
        return append(of)
      }),
    )
    assert.match(await errorOf(racing), AT_WORK)
  })

  it('is detected by every copy: a full clone reports the renewal of the original', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const clone = copyOf(t, ada)
    await renew(ada)
    assert.match(await errorOf(clone), AT_WORK)
    assert.equal(await renewals(ada), 1)
  })

  it('is no longer reported after the keys of the device are deleted', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const laptop = await world.further(ada, 'laptop')
    await renew(copyOf(t, laptop))
    assert.match(await errorOf(laptop), AT_WORK)
    await ada.revoke(laptop.deviceId)
    await laptop.device().sync.run('request')
    await laptop.flow.end({ forget: true, last_device: false })
    assert.equal(copyWarning(laptop.state), null)
  })
})

describe('a device that was restored from a backup', () => {
  it('made before a renewal renews once and reports that; then its words verify', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const restored = restoredFrom(t, ada)
    await renew(ada)
    assert.match(await errorOf(restored), RESTORED)
    assert.equal(await renewals(ada), 2)
    assert.equal(await errorOf(restored), '')
    world.later()
    assert(await verifies(bob, restored, id))
    // The original continued to work: from now on a renewal by the other one is not excused.
    await rejects('invalid_state', renew(ada), { state: 'keys_copied', says: AT_WORK })
    assert.match(await errorOf(restored), AT_WORK)
  })

  it('made after the last renewal: the first sync ends the exception', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    await ada.sync()
    const restored = restoredFrom(t, ada)
    await restored.sync()
    await renew(ada)
    assert.match(await errorOf(restored), AT_WORK)
  })

  it('continues its renewal if the answer to it was lost', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const restored = restoredFrom(t, ada)
    await renew(ada)
    const cut = restored.restart(
      instead('keyLogs', 'append', (append) => async (of) => {
        await append(of)
        throw new AppError('backend_timeout', 'No answer.')
      }),
    )
    assert.doesNotMatch(await errorOf(cut), AT_WORK)
    await restored.restart((account) => account).sync()
    assert.equal(await renewals(ada), 2)
  })
})
