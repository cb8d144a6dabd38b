/** Tests that a machine account’s ended session is renewed without user interaction. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { renewing } from '../../../src/device/session/session.ts'
import { AppError, type ErrorCode } from '../../../src/errors.ts'
import { gate } from '../enrolled.ts'
import { rejects } from '../../rejects.ts'

const none = { items: [], next_cursor: null }

/** Returns an account that refuses until it has a new session. */
function account(code: ErrorCode = 'not_signed_in') {
  const seen = { calls: 0, renewals: 0, good: false }
  const list = async () => {
    seen.calls++
    if (!seen.good) throw new AppError(code, 'no')
    return none
  }
  const calls = { connections: { list } } as unknown as Account
  return { seen, of: { ...calls, acting: () => calls } }
}

describe('a session that ended', () => {
  it('is renewed, and the call is repeated', async () => {
    const { seen, of } = account()
    const wrapped = renewing(of, async () => {
      seen.renewals++
      seen.good = true
    })
    assert.deepEqual(await wrapped.connections.list({}), none)
    assert.deepEqual(seen, { calls: 2, renewals: 1, good: true })
    seen.good = false
    const acting = wrapped.acting?.({ id: new Uint8Array(16), at: 0 })
    assert.deepEqual(await acting?.connections.list({}), none)
    assert.equal(seen.renewals, 2)
  })

  it('is renewed once for all waiting calls', async () => {
    const { seen, of } = account()
    const { promise, resolve } = gate()
    const wrapped = renewing(of, async () => {
      seen.renewals++
      await promise
      seen.good = true
    })
    const both = Promise.all([wrapped.connections.list({}), wrapped.connections.list({})])
    resolve()
    await both
    assert.equal(seen.renewals, 1)
  })

  it('is renewed once, also if the new one is not in use at once', async () => {
    const { seen, of } = account()
    const wrapped = renewing(of, async () => {
      seen.renewals++
      // The next call joins a renewal that began before.
      const { calls } = seen
      Object.defineProperty(seen, 'good', { get: () => seen.calls > calls + 1 })
    })
    assert.deepEqual(await wrapped.connections.list({}), none)
    assert.equal(seen.renewals, 1)
  })

  it('is renewed once: another rejection is returned', async () => {
    const { seen, of } = account()
    const wrapped = renewing(of, async () => void seen.renewals++)
    await rejects('not_signed_in', wrapped.connections.list({}))
    assert.deepEqual([seen.calls, seen.renewals], [3, 1])
  })

  it('that cannot be renewed: the error is returned', async () => {
    const { of } = account()
    const wrapped = renewing(of, () => Promise.reject(new AppError('not_signed_in', 'revoked')))
    await assert.rejects(wrapped.connections.list({}), /revoked/)
  })

  it('is not assumed for other errors, which are returned unchanged', async () => {
    const { seen, of } = account('not_found')
    const wrapped = renewing(of, async () => void seen.renewals++)
    await rejects('not_found', wrapped.connections.list({}))
    assert.deepEqual([seen.calls, seen.renewals], [1, 0])
  })
})
