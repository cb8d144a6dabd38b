/**
 * Deletes the account: first its memberships, then its data at the server, then this device's data.
 *
 * This device signs that it leaves its connections, if it can. Then the account server deletes
 * everything, and only after that this device deletes its data. While it is unknown whether the
 * account was deleted, nothing is deleted here. After a crash, the next start or attempt completes
 * the deletion.
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

/** The number of connections that are left concurrently. */
const AT_ONCE = 8
/**
 * The maximum time for leaving connections, in milliseconds.
 *
 * The account server ends the remaining memberships. The other members still get a new secret.
 */
const LEAVING_MS = 60_000

/** Codes that mean that the account server did not respond, or sent an invalid response. */
const AWAY: readonly ErrorCode[] = ['backend_error', 'backend_timeout', 'backend_unavailable']
/**
 * Codes that mean that the account was deleted.
 *
 * A remote server then rejects the session, and the embedded server rejects the device.
 */
const GONE: readonly ErrorCode[] = ['not_signed_in', 'invalid_token']

const isOne = (codes: readonly ErrorCode[], error: unknown): error is AppError =>
  error instanceof AppError && codes.includes(error.code)

interface AccountDeletionContext {
  readonly state: State
  readonly keychain: Keychain
  readonly deviceSession: Pick<DeviceSession, 'account' | 'identity' | 'device' | 'leave'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Log
}

/**
 * Returns the error for a deletion that the account server did not confirm.
 *
 * Nothing was deleted on this device. Connections that were left stay left.
 */
const unanswered = (error: AppError) =>
  new AppError(
    error.code,
    `The account server did not confirm that the account is deleted, so nothing was deleted on this device: ${error.message} Delete the account again to finish the deletion.`,
    { details: error.details, headers: error.headers, cause: error },
  )

/** Returns all connections of the account, including those that no sync has fetched yet. */
async function connectionsOf({ state }: DeviceContext, account: Account): Promise<string[]> {
  const listed = await every((query) => account.connections.list(query))
  return [...new Set([...listed.map(({ id }) => id), ...state.connections.ids()])]
}

/**
 * Leaves all connections for which this device can sign a `leave`.
 *
 * Stops if the server is unavailable, because the deletion would then fail too.
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
      // Yields to the event loop, because an embedded account server responds without doing so.
      await setImmediate()
    }
  }
  // Waits until all have ended before it throws a failure.
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, some))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/**
 * Requests the deletion from the account server.
 *
 * The session was just valid. If the server rejects it now, either an earlier attempt succeeded, or
 * another device revoked this one at that moment. The two cases cannot be distinguished, so this
 * device deletes its data in both. In the second case the account continues to exist.
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

/** Deletes all local data of an account that was deleted at the account server. */
async function forgetAll({ keychain, deviceSession, log }: AccountDeletionContext): Promise<void> {
  const who = deviceSession.identity()
  forgetMachineKey(keychain)
  await deviceSession.leave('deleted')
  log('info', 'account deleted', { account: who?.account, device: who?.device })
}

/**
 * Deletes the signed-in account at the account server and then on this device.
 * @throws AppError invalid_state with `state` `last_owner` for the only owner of an organisation
 *   with other members; backend_… if the server did not confirm the deletion; not_signed_in if the
 *   server rejects the session. In these cases nothing is deleted here.
 */
export async function requestAccountDeletion(
  of: AccountDeletionContext,
  device: DeviceContext,
): Promise<void> {
  const { state, deviceSession } = of
  const { session } = deviceSession.identity() ?? device.identity
  const account = deviceSession.account()
  try {
    // Checked before anything is signed, because leaving a connection cannot be undone.
    await account.deletion.read({})
    unmarkAsked(state)
    // Requires an accessible keychain now, to sign and later to delete its entries.
    await device.identity.keys()
    await leaveAll(of, device, account)
    await askServer(of, account, session)
  } catch (error) {
    if (isOne(AWAY, error)) throw unanswered(error)
    if (!isOne(GONE, error) || !isAsked(state, session)) throw error
  }
  await forgetAll(of)
}

/**
 * Completes a deletion at start-up if its response was lost.
 *
 * Only asks the account server whether the account still exists. Does not request the deletion
 * again, because that is the user's decision.
 * @returns whether the account was deleted, and therefore its data here too
 */
export async function finishDeletion(of: AccountDeletionContext): Promise<boolean> {
  const { state, deviceSession, log } = of
  const session = deviceSession.identity()?.session
  try {
    // If a later session has ended, that does not prove that the account was deleted.
    if (session !== undefined && isAsked(state, session))
      await deviceSession.account().deletion.read({})
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
