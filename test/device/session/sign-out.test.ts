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

describe('a device whose session the server takes no more', () => {
  it('stays, and the person is told why and what to do', async (t) => {
    const { endSession, leave } = await signedIn(t)
    endSession()
    for (const says of [
      /rejects the session of this device/,
      /was revoked, or its session ended/,
      /"countersignd logout --forget"/,
      /"countersignd login --email ada@example\.org" signs the same device in again/,
    ])
      await assert.rejects(leave(), refusedWith('invalid_state', says, 'unknown_here'))
  })

  it('and that has no mailbox is not told to sign in by one', async (t) => {
    const { laptop, endSession, leave } = await signedIn(t)
    changeFacts(laptop.state, { email: null })
    endSession()
    await assert.rejects(leave(), (error: Error) => {
      assert(!error.message.includes('countersignd login'))
      return refusedWith('invalid_state', /countersignd logout --forget/, 'unknown_here')(error)
    })
  })

  it('goes when it is told to forget', async (t) => {
    const { endSession, leave } = await signedIn(t)
    endSession()
    await leave({ forget: true })
  })

  it('goes when its own key log says that it is revoked', async (t) => {
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

  it('goes when it waits for approval', async (t) => {
    const { laptop, endSession, leave } = await signedIn(t)
    changeFacts(laptop.state, { approved: false })
    endSession()
    await leave()
  })
})

describe('a device that signed its revocation and heard no answer', () => {
  const lossy = (account: Account) => ({
    keyLogs: {
      ...account.keyLogs,
      append: async (input: Parameters<Account['keyLogs']['append']>[0]) => {
        await account.keyLogs.append(input)
        return away()
      },
    },
  })

  it('stays, and goes at the next attempt', async (t) => {
    const { revoked, leave } = await signedIn(t, lossy)
    await assert.rejects(leave(), refusedWith('backend_unavailable', /Not signed out/))
    assert(revoked())
    await leave()
  })

  it('and has another session since: a session that ends says nothing of the revocation', async (t) => {
    const { laptop, leave } = await signedIn(t, lossy)
    await assert.rejects(leave(), refusedWith('backend_unavailable'))
    changeFacts(laptop.state, { session: 'ses_00000000000000000000000000' })
    await assert.rejects(leave(), refusedWith('invalid_state', /./, 'unknown_here'))
  })
})

describe('a device whose revocation never arrived, and whose session ends later', () => {
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
  const unknown = refusedWith('invalid_state', /its keys may still be valid/, 'unknown_here')

  it('is told, where a sync saw it active since', async (t) => {
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

  it('is told, where another attempt saw it active and was refused', async (t) => {
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

describe('told to forget', () => {
  it('it still tells a server that answers', async (t) => {
    const { revoked, leave } = await signedIn(t)
    await leave({ forget: true })
    assert(revoked())
  })

  it('the last device is asked about all the same', async (t) => {
    const { revoked, leave } = await signedIn(t)
    await assert.rejects(
      leave({ forget: true, lastDevice: false }),
      refusedWith('invalid_state', /--last-device/, 'last_device'),
    )
    assert(!revoked())
  })

  for (const part of ['read', 'append'] as const)
    it(`it goes while the server is away (${part}), and otherwise stays`, async (t) => {
      const { leave } = await signedIn(t, deaf(part))
      await assert.rejects(
        leave(),
        refusedWith('backend_unavailable', /Not signed out.*"countersignd logout --forget"/),
      )
      await leave({ forget: true })
    })

  it('it goes without its keys, and otherwise stays', async (t) => {
    const { laptop, leave } = await signedIn(t)
    laptop.keychain.delete('device')
    await assert.rejects(leave(), refusedWith('keychain_locked'))
    await leave({ forget: true })
  })

  it('it stays when another device was faster: the next attempt is heard', async (t) => {
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
