/**
 * Tests notifying the account that a device leaves, and the device if the notification is lost.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import type { SyncReport } from '../../../src/api/rest/sync.ts'
import { revokeDevice } from '../../../src/crypto/logs/key-log-entries.ts'
import { changeFacts } from '../../../src/device/identity/identity.ts'
import { keepKeyLog } from '../../../src/device/logs/key-log.ts'
import { newPull } from '../../../src/device/sync/pull.ts'
import { takeLeave } from '../../../src/device/session/sign-out.ts'
import { AppError } from '../../../src/errors.ts'
import { testServer } from './sign-in-server.ts'
import { away, newLaptop, refusedWith } from './signing-in.ts'

/** Returns a signed-in device; `parts` replaces calls of its account. */
async function signedIn(
  t: TestContext,
  parts: (account: Account) => Partial<Account> = () => ({}),
) {
  const server = testServer()
  const laptop = newLaptop(t, server, 'desk', {
    account: (account) => ({ ...account, ...parts(account) }),
  })
  await laptop.signIn()
  const { account, device } = laptop.identity()
  return {
    server,
    laptop,
    endSession: () => {
      const row = server.devices.get(device)
      assert(row !== undefined)
      row.session = null
    },
    revoked: () => server.logOf(account).devices.get(device)?.revokedAt !== null,
    leave: (how: { lastDevice?: boolean; forget?: boolean } = {}) =>
      takeLeave({
        identity: laptop.identity(),
        state: laptop.state,
        account: laptop.seat.account(),
        now: server.now(),
        lastDevice: how.lastDevice ?? true,
        forget: how.forget ?? false,
      }),
  }
}

/** A sync that reads only the key log has no secrets. */
const unused = null as never

const deaf = (part: 'read' | 'append') => (account: Account) => ({
  keyLogs: { ...account.keyLogs, [part]: away },
})

describe('a device with a session that the server rejects', () => {
  it('stays, and the error names the reason and the remedy', async (t) => {
    const { endSession, leave } = await signedIn(t)
    endSession()
    for (const says of [
      /rejects the session of this device/,
      /was revoked or its session has ended/,
      /"countersignd logout --forget"/,
      /"countersignd login --email ada@example\.org" signs the same device in again/,
    ])
      await assert.rejects(leave(), refusedWith('invalid_state', says, 'unknown_here'))
  })

  it('without a mailbox gets no advice to sign in by one', async (t) => {
    const { laptop, endSession, leave } = await signedIn(t)
    changeFacts(laptop.state, { email: null })
    endSession()
    await assert.rejects(leave(), (error: Error) => {
      assert(!error.message.includes('countersignd login'))
      return refusedWith('invalid_state', /countersignd logout --forget/, 'unknown_here')(error)
    })
  })

  it('leaves with logout --forget', async (t) => {
    const { endSession, leave } = await signedIn(t)
    endSession()
    await leave({ forget: true })
  })

  it('leaves if its own key log revokes it', async (t) => {
    const { laptop, server, endSession, leave } = await signedIn(t)
    const { account, device, kid, keys, keyLog } = laptop.identity()
    const log = await keyLog()
    const { secret: seed } = (await keys()).sign
    const entry = revokeDevice({ log, device, by: device, kid, seed, at: server.now() / 1000 })
    server.logs.set(account, [...log.entries, entry])
    keepKeyLog(laptop.state, server.logOf(account))
    endSession()
    assert.notEqual((await laptop.identity().keyLog()).devices.get(device)?.revokedAt, null)
    await leave()
  })

  it('leaves while it awaits approval', async (t) => {
    const { laptop, endSession, leave } = await signedIn(t)
    changeFacts(laptop.state, { approved: false })
    endSession()
    await leave()
  })
})

describe('a device that signed its revocation and got no answer', () => {
  const lossy = (account: Account) => ({
    keyLogs: {
      ...account.keyLogs,
      append: async (input: Parameters<Account['keyLogs']['append']>[0]) => {
        await account.keyLogs.append(input)
        return away()
      },
    },
  })

  it('stays, and leaves at the next attempt', async (t) => {
    const { revoked, leave } = await signedIn(t, lossy)
    await assert.rejects(leave(), refusedWith('backend_unavailable', /Not signed out/))
    assert(revoked())
    await leave()
  })

  it('and has another session since: the end of that session does not prove the revocation', async (t) => {
    const { laptop, leave } = await signedIn(t, lossy)
    await assert.rejects(leave(), refusedWith('backend_unavailable'))
    changeFacts(laptop.state, { session: 'ses_00000000000000000000000000' })
    await assert.rejects(leave(), refusedWith('invalid_state', /./, 'unknown_here'))
  })
})

describe('a device with a revocation that never arrived, and a session that ends later', () => {
  /** Returns an account that loses appended entries until `mend` is called. */
  function cut() {
    let isCut = true
    const parts = (account: Account) => ({
      keyLogs: {
        ...account.keyLogs,
        append: async (input: Parameters<Account['keyLogs']['append']>[0]) =>
          isCut ? away() : account.keyLogs.append(input),
      },
    })
    return { parts, mend: () => void (isCut = false) }
  }
  const unknown = refusedWith(
    'invalid_state',
    /keys of this device may still be valid/,
    'unknown_here',
  )

  it('gets an error, if a sync saw it active since', async (t) => {
    const { parts } = cut()
    const { laptop, endSession, leave } = await signedIn(t, parts)
    await assert.rejects(leave(), refusedWith('backend_unavailable'))
    const { state } = laptop
    const report = { ok: true, error: null } as SyncReport
    await newPull({
      requireSession: () => undefined,
      state,
      identity: laptop.identity(),
      account: laptop.seat.account(),
      touched: new Set(),
      now: () => 0,
      log: () => undefined,
      vault: unused,
      codes: unused,
    }).ownLog(report)
    assert(report.ok)
    endSession()
    await assert.rejects(leave(), unknown)
  })

  it('gets an error, if another attempt saw it active and was rejected', async (t) => {
    const { parts, mend } = cut()
    const { endSession, leave } = await signedIn(t, parts)
    await assert.rejects(leave(), refusedWith('backend_unavailable'))
    mend()
    await assert.rejects(
      leave({ lastDevice: false }),
      refusedWith('invalid_state', /./, 'last_device'),
    )
    endSession()
    await assert.rejects(leave(), unknown)
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
    await assert.rejects(
      leave({ forget: true, lastDevice: false }),
      refusedWith('invalid_state', /--last-device/, 'last_device'),
    )
    assert(!revoked())
  })

  for (const part of ['read', 'append'] as const)
    it(`leaves while the server is unreachable (${part}), and logout alone does not`, async (t) => {
      const { leave } = await signedIn(t, deaf(part))
      await assert.rejects(
        leave(),
        refusedWith('backend_unavailable', /Not signed out.*"countersignd logout --forget"/),
      )
      await leave({ forget: true })
    })

  it('leaves without the keys, and logout alone does not', async (t) => {
    const { laptop, leave } = await signedIn(t)
    laptop.keychain.delete('device')
    await assert.rejects(leave(), refusedWith('keychain_locked'))
    await leave({ forget: true })
  })

  it('after a conflict with another device: logout stays, and the next attempt succeeds', async (t) => {
    const { leave } = await signedIn(t, (account) => ({
      keyLogs: {
        ...account.keyLogs,
        append: async () => {
          throw new AppError('conflict', 'another came first')
        },
      },
    }))
    await assert.rejects(leave({ forget: true }), refusedWith('conflict'))
  })
})
