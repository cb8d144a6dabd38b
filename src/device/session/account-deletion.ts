/**
 * Deletes the account: first its memberships, then the data at the server, then this device's.
 *
 * This device signs that it leaves its connections, as far as it can. The account server deletes
 * everything, and only then this device deletes its data. Nothing is deleted here while it is
 * unknown whether the account is gone. Once it is gone, the next start or attempt completes the
 * deletion, even after a crash.
 */
import { setImmediate } from 'node:timers/promises'
import { every } from '../../api/cursor.ts'
import type { Account } from '../../api/port.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { Log } from '../../log.ts'
import { isRefusal } from '../../storage/idempotency.ts'
import type { State } from '../../state/state.ts'
import { isAsked, markAsked, unmarkAsked } from '../identity/marks.ts'
import type { DeviceContext } from '../context.ts'
import { forgetMachineKey } from './credentials.ts'
import { leaveOrEnd } from '../connections/members.ts'
import type { DeviceSession } from './session.ts'

/** How many connections are left concurrently. */
const AT_ONCE = 8
/**
 * How long leaving may take, in milliseconds.
 *
 * The account server ends the remaining memberships. Their other members still get a new secret.
 */
const LEAVING_MS = 60_000

/** Codes that mean the account server did not answer, or not in a valid form. */
const AWAY: readonly ErrorCode[] = ['backend_error', 'backend_timeout', 'backend_unavailable']
/**
 * Codes that mean the account is gone.
 *
 * A remote server rejects the session, the embedded one the device.
 */
const GONE: readonly ErrorCode[] = ['not_signed_in', 'invalid_token']

const isOne = (codes: readonly ErrorCode[], error: unknown): error is AppError =>
  error instanceof AppError && codes.includes(error.code)

interface AccountDeletionContext {
  readonly state: State
  readonly keychain: Keychain
  readonly seat: Pick<DeviceSession, 'account' | 'identity' | 'device' | 'leave'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Log
}

/**
 * Returns the error for a deletion that the account server did not confirm.
 *
 * Nothing was deleted here. Connections that were left stay left.
 */
const unheard = (error: AppError) =>
  new AppError(
    error.code,
    `The account server did not confirm that the account is deleted, so nothing was deleted on this device: ${error.message} Delete it again to finish the deletion.`,
    { details: error.details, headers: error.headers, cause: error },
  )

/** Returns all connections of the account, including those that no sync has fetched yet. */
async function connectionsOf({ state }: DeviceContext, account: Account): Promise<string[]> {
  const listed = await every((query) => account.connections.list(query))
  return [...new Set([...listed.map(({ id }) => id), ...state.connections.ids()])]
}

/**
 * Leaves all connections for which this device can sign.
 *
 * Stops if the server is unavailable, because the deletion would fail for the same reason.
 * @throws AppError backend_timeout, backend_unavailable, not_signed_in
 */
async function leaveAll(
  { log, now }: AccountDeletionContext,
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
      log('info', 'could not sign the leaving of a connection', { connection, cause: error })
    }
  }

  async function some(): Promise<void> {
    for (let next = rest.pop(); next !== undefined && now() < until; next = rest.pop()) {
      await leaveOne(next)
      // Yield to the event loop: an embedded account server answers without leaving the thread.
      await setImmediate()
    }
  }
  // All runs end before a failure is thrown.
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, some))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/**
 * Requests the deletion from the account server.
 *
 * The session was valid a moment ago. If it is rejected now, an earlier attempt succeeded, or
 * another device revoked this one at that moment. The two cannot be distinguished: this device
 * then deletes its data in both cases, and in the second one the account continues to exist.
 */
async function askServer(
  { state, now }: AccountDeletionContext,
  account: Account,
  session: string,
): Promise<void> {
  markAsked(state, { session, at: now() })
  try {
    await account.account.delete({})
  } catch (error) {
    if (isOne(GONE, error)) return
    // A rejected request had no effect.
    if (isRefusal(error)) unmarkAsked(state)
    throw error
  }
}

/** Deletes all local data of an account that is gone. */
async function forgetAll({ keychain, seat, log }: AccountDeletionContext): Promise<void> {
  const who = seat.identity()
  forgetMachineKey(keychain)
  await seat.leave('deleted')
  log('info', 'account deleted', { account: who?.account, device: who?.device })
}

/**
 * Deletes the signed-in account at the account server and then on this device.
 * @throws AppError invalid_state, `last_owner`, for the only owner of an organisation with other
 *   members; backend_… if the server did not confirm; not_signed_in if it rejects the session.
 *   Nothing is deleted here in these cases.
 */
export async function requestAccountDeletion(
  of: AccountDeletionContext,
  device: DeviceContext,
): Promise<void> {
  const { state, seat } = of
  const { session } = seat.identity() ?? device.identity
  const account = seat.account()
  try {
    // Checked before anything is signed, because leaving a connection cannot be undone.
    await account.deletion.read({})
    unmarkAsked(state)
    // The keychain must be accessible, to sign now and to delete its entries later.
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
 * Completes a deletion at start-up if its answer was lost.
 *
 * Only asks the account server whether the account still exists. It does not request the deletion
 * again, since that is the user's decision.
 * @returns whether the account is gone, and its data deleted here
 */
export async function finishDeletion(of: AccountDeletionContext): Promise<boolean> {
  const { state, seat, log } = of
  const session = seat.identity()?.session
  try {
    // The end of a later session does not prove that the account was deleted.
    if (session !== undefined && isAsked(state, session)) await seat.account().deletion.read({})
    unmarkAsked(state)
    return false
  } catch (error) {
    if (!isOne(GONE, error)) {
      // A rejected request proves that the account exists.
      if (isOne(['invalid_state'], error)) unmarkAsked(state)
      else log('warn', 'unknown whether the account was deleted', { cause: error })
      return false
    }
  }
  await forgetAll(of)
  return true
}
