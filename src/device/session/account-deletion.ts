/**
 * Deleting the account: this device leaves its connections by what it signs, as far as it can, the account server deletes everything, and
 * only then everything is forgotten here. Nothing is forgotten while nobody knows that the account is gone; and once it is, whatever
 * ends this program, the rest follows at the next start or attempt.
 */
import { setImmediate } from 'node:timers/promises'
import { every } from '../../api/cursor.ts'
import type { Account } from '../../api/port.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError, type Code } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { Log } from '../../log.ts'
import { isRefusal } from '../../storage/idempotency.ts'
import type { State } from '../../state/state.ts'
import { isAsked, markAsked, unmarkAsked } from '../identity/account-deletion-mark.ts'
import type { DeviceContext } from '../context.ts'
import { forgetMachineKey } from './machine-key.ts'
import { leaveOrEnd } from '../connections/members.ts'
import type { Seat } from './session.ts'

/** So many connections are left at once. */
const AT_ONCE = 8
/** What is not left by then, the account server ends: the others get a new secret all the same. */
const LEAVING_MS = 60_000

/** The account server did not answer, or not with sense. */
const AWAY: readonly Code[] = ['backend_error', 'backend_timeout', 'backend_unavailable']
/** An account server says so that knows the session no more; one in this process, that knows the device no more. */
const GONE: readonly Code[] = ['not_signed_in', 'invalid_token']

const isOne = (codes: readonly Code[], error: unknown): error is AppError =>
  error instanceof AppError && codes.includes(error.code)

interface Ground {
  readonly state: State
  readonly keychain: Keychain
  readonly seat: Pick<Seat, 'account' | 'identity' | 'device' | 'leave'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Log
}

/** Nothing was forgotten here, and what was left is left. */
const unheard = (error: AppError) =>
  new AppError(
    error.code,
    `The account server did not confirm that the account is deleted, so nothing was forgotten here: ${error.message} Delete it again; what was begun is then finished.`,
    { details: error.details, headers: error.headers, cause: error },
  )

/** The connections of the account, whether or not this device has heard of them. */
async function connectionsOf({ state }: DeviceContext, account: Account): Promise<string[]> {
  const listed = await every((query) => account.connections.list(query))
  return [...new Set([...listed.map(({ id }) => id), ...state.connections.ids()])]
}

/**
 * Leave all connections for which this device can sign. A server that is away ends it, for the deletion would meet that too.
 * @throws AppError backend_timeout, backend_unavailable
 */
async function leaveAll(
  { log, now }: Ground,
  device: DeviceContext,
  account: Account,
): Promise<void> {
  const rest = await connectionsOf(device, account)
  const until = now() + LEAVING_MS

  async function leaveOne(connection: string): Promise<void> {
    try {
      await leaveOrEnd(device, account, connection)
    } catch (error) {
      const isOfOne = error instanceof Refusal || error instanceof AppError
      if (!isOfOne || isOne(['backend_timeout', 'backend_unavailable', 'not_signed_in'], error))
        throw error
      log('info', 'connection not left by a signature', { connection, cause: error })
    }
  }

  async function some(): Promise<void> {
    for (let next = rest.pop(); next !== undefined && now() < until; next = rest.pop()) {
      await leaveOne(next)
      // An account server in this process answers without leaving its only thread.
      await setImmediate()
    }
  }
  // Each ends before anybody hears that one failed.
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, some))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/**
 * Have the account server delete the account. The session was good a moment ago: if it is not now, an attempt went through. Or another
 * device revoked this one at that very moment, which cannot be told apart: then this one forgets all the same, and the account lives.
 */
async function askServer({ state, now }: Ground, account: Account, session: string): Promise<void> {
  markAsked(state, { session, at: now() })
  try {
    await account.account.delete({})
  } catch (error) {
    if (isOne(GONE, error)) return
    // What the server refused outright, it did not do.
    if (isRefusal(error)) unmarkAsked(state)
    throw error
  }
}

/** Forget everything of an account that is gone. */
async function forgetAll({ keychain, seat, log }: Ground): Promise<void> {
  const who = seat.identity()
  forgetMachineKey(keychain)
  await seat.leave('deleted')
  log('info', 'account deleted', { account: who?.account, device: who?.device })
}

/**
 * Delete the account that is signed in here, at the account server and then on this device.
 * @throws AppError invalid_state, `last_owner`, for the only owner of an organisation in which others are; backend_… when the server did
 *   not confirm, and not_signed_in when it takes the session no more; nothing is forgotten then
 */
export async function deleteAccount(of: Ground, device: DeviceContext): Promise<void> {
  const { state, seat } = of
  const { session } = seat.identity() ?? device.identity
  const account = seat.account()
  try {
    // Before anything is signed, for what was left stays left.
    await account.deletion.read({})
    unmarkAsked(state)
    // What the keychain holds must be within reach, to sign now and to be forgotten later.
    await device.identity.keys()
    await leaveAll(of, device, account)
    await askServer(of, account, session)
  } catch (error) {
    if (isOne(AWAY, error)) throw unheard(error)
    if (!isOne(GONE, error) || !isAsked(state, session)) throw error
  }
  await forgetAll(of)
}

/**
 * At a start: where the account server was asked to delete the account and nobody heard the answer, hear whether it did. It is not asked
 * to again: that is for the person.
 * @returns whether the account is gone, and forgotten here by now
 */
export async function finishDeletion(of: Ground): Promise<boolean> {
  const { state, seat, log } = of
  const session = seat.identity()?.session
  try {
    // Another session since: that this one ends says nothing of the deletion.
    if (session !== undefined && isAsked(state, session)) await seat.account().deletion.read({})
    unmarkAsked(state)
    return false
  } catch (error) {
    if (!isOne(GONE, error)) {
      // A refusal says that the account is there.
      if (isOne(['invalid_state'], error)) unmarkAsked(state)
      else log('warn', 'not known whether the account was deleted', { cause: error })
      return false
    }
  }
  await forgetAll(of)
  return true
}
