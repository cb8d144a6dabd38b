/**
 * Tests notifying the account that a device leaves, and the device if the notification is lost.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { SyncReport } from '../../../src/api/rest/sync.ts'
import { revokeDevice } from '../../../src/crypto/logs/key-log-entries.ts'
import { changeFacts } from '../../../src/device/identity/identity.ts'
import { keepKeyLog } from '../../../src/device/logs/key-log.ts'
import { newPull } from '../../../src/device/sync/pull.ts'
import { takeLeave } from '../../../src/device/session/sign-out.ts'
import { newWorld } from '../../world/world.ts'
import { newLaptop } from './signing-in.ts'
import { type Call, rejects } from '../../rejects.ts'
import { type Between, away, instead, losing, refusing } from '../../world/interceptor.ts'
import { verifyKeyLog } from '../../../src/crypto/logs/key-log.ts'

/** Returns a signed-in device behind an interceptor. */
async function signedIn(t: TestContext, between: Between = (account) => account) {
  const server = await newWorld(t)
  const laptop = newLaptop(t, server, 'desk', { account: between })
  await laptop.signIn()
  const { account, device } = laptop.identity()
  return {
    server,
    laptop,
    endSession: () => laptop.account.currentSession.delete({}),
    revoked: () => server.logOf(account).devices.get(device)?.revokedAt !== null,
    leave: (how: { lastDevice?: boolean; forget?: boolean } = {}) =>
      takeLeave({
        identity: laptop.identity(),
        state: laptop.state,
        account: laptop.deviceSession.account(),
        now: server.now(),
        lastDevice: how.lastDevice ?? true,
        forget: how.forget ?? false,
      }),
  }
}

/** A sync that reads only the key log has no secrets. */
const unused = null as never

const deaf = (part: 'read' | 'append') => instead('keyLogs', part, () => away)

describe('a device with a session that the server rejects', () => {
  it('stays, and the error names the reason and the remedy', async (t) => {
    const { endSession, leave } = await signedIn(t)
    await endSession()
    for (const says of [
      /rejects the session of this device/,
      /was revoked or its session has ended/,
      /"countersignd logout --forget"/,
      /"countersignd login --email ada@example\.org" signs the same device in again/,
    ])
      await rejects('invalid_state', leave(), { state: 'unknown_here', says })
  })

  it('without a mailbox gets no advice to sign in by one', async (t) => {
    const { laptop, endSession, leave } = await signedIn(t)
    changeFacts(laptop.state, { email: null })
    await endSession()
    const { message } = await rejects('invalid_state', leave(), {
      state: 'unknown_here',
      says: /countersignd logout --forget/,
    })
    assert(!message.includes('countersignd login'))
  })

  it('leaves with logout --forget', async (t) => {
    const { endSession, leave } = await signedIn(t)
    await endSession()
    await leave({ forget: true })
  })

  it('leaves if its own key log revokes it', async (t) => {
    const { laptop, server, endSession, leave } = await signedIn(t)
    const { account, device, kid, keys, keyLog } = laptop.identity()
    const log = await keyLog()
    const { secret: seed } = (await keys()).sign
    const entry = revokeDevice({ log, device, by: device, kid, seed, at: server.now() / 1000 })
    keepKeyLog(laptop.state, verifyKeyLog(account, [...log.entries, entry]))
    await endSession()
    assert.notEqual((await laptop.identity().keyLog()).devices.get(device)?.revokedAt, null)
    await leave()
  })

  it('leaves while it awaits approval', async (t) => {
    const { laptop, endSession, leave } = await signedIn(t)
    changeFacts(laptop.state, { approved: false })
    await endSession()
    await leave()
  })
})

describe('a device that signed its revocation and got no answer', () => {
  const lossy = instead('keyLogs', 'append', losing(1))

  it('stays, and leaves at the next attempt', async (t) => {
    const { revoked, leave } = await signedIn(t, lossy)
    await rejects('backend_unavailable', leave(), { says: /Not signed out/ })
    assert(revoked())
    await leave()
  })

  it('and has another session since: the end of that session does not prove the revocation', async (t) => {
    const { laptop, leave } = await signedIn(t, lossy)
    await rejects('backend_unavailable', leave())
    changeFacts(laptop.state, { session: 'ses_00000000000000000000000000' })
    await rejects('invalid_state', leave(), { state: 'unknown_here' })
  })
})

describe('a device with a revocation that never arrived, and a session that ends later', () => {
  /** Returns an account that loses appended entries until `mend` is called. */
  function cut() {
    let isCut = true
    const between = instead(
      'keyLogs',
      'append',
      (honest) => (input) => (isCut ? away() : honest(input)),
    )
    return { between, mend: () => void (isCut = false) }
  }
  const unknown = (call: Call) =>
    rejects('invalid_state', call, {
      state: 'unknown_here',
      says: /keys of this device may still be valid/,
    })

  it('gets an error, if a sync saw it active since', async (t) => {
    const { between } = cut()
    const { laptop, endSession, leave } = await signedIn(t, between)
    await rejects('backend_unavailable', leave())
    const { state } = laptop
    const report = { ok: true, error: null } as SyncReport
    await newPull({
      requireSession: () => undefined,
      state,
      identity: laptop.identity(),
      account: laptop.deviceSession.account(),
      touched: new Set(),
      now: () => 0,
      log: () => undefined,
      vault: unused,
      codes: unused,
    }).ownLog(report)
    assert(report.ok)
    await endSession()
    await unknown(leave())
  })

  it('gets an error, if another attempt saw it active and was rejected', async (t) => {
    const { between, mend } = cut()
    const { endSession, leave } = await signedIn(t, between)
    await rejects('backend_unavailable', leave())
    mend()
    await rejects('invalid_state', leave({ lastDevice: false }), { state: 'last_device' })
    await endSession()
    await unknown(leave())
  })
})

describe('logout --forget', () => {
  it('still informs a server that answers', async (t) => {
    const { revoked, leave } = await signedIn(t)
    await leave({ forget: true })
    assert(revoked())
  })

  it('still asks for a confirmation on the last device', async (t) => {
    const { revoked, leave } = await signedIn(t)
    await rejects('invalid_state', leave({ forget: true, lastDevice: false }), {
      state: 'last_device',
      says: /--last-device/,
    })
    assert(!revoked())
  })

  for (const part of ['read', 'append'] as const)
    it(`leaves while the server is unreachable (${part}), and logout alone does not`, async (t) => {
      const { leave } = await signedIn(t, deaf(part))
      await rejects('backend_unavailable', leave(), {
        says: /Not signed out.*"countersignd logout --forget"/,
      })
      await leave({ forget: true })
    })

  it('leaves without the keys, and logout alone does not', async (t) => {
    const { laptop, leave } = await signedIn(t)
    laptop.keychain.delete('device')
    await rejects('keychain_locked', leave())
    await leave({ forget: true })
  })

  it('after a conflict with another device: logout stays, and the next attempt succeeds', async (t) => {
    const conflict = refusing('conflict', 'another came first')
    const { leave } = await signedIn(
      t,
      instead('keyLogs', 'append', () => conflict),
    )
    await rejects('conflict', leave({ forget: true }))
  })
})
