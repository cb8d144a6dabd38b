/**
 * Errors that several groups of answers share, so that the same fault always has the same message.
 * Also maps database errors to API errors.
 */
import { invalid } from '../../api/input.ts'
import type { CallerSession } from '../../api/port.ts'
import { type ByRow, mapRows } from '../../api/rows.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { onRefusal, onRefusalLater, type Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'

/**
 * Returns the error for a resource that does not exist or belongs to another account. Callers must
 * not be able to distinguish the two cases.
 */
export const notFound = (what: string) => new AppError('not_found', `There is no such ${what}.`)

/** Returns the error for a request that was running when its account was deleted. */
export const accountGone = () => new AppError('invalid_token', 'This account was deleted.')

/** Returns the error for a request that names a row which another request has just deleted. */
export const justDeleted = (cause?: unknown) =>
  new AppError(
    'conflict',
    'An object that this request names has just been deleted. Nothing was changed. Read the current state, then try again.',
    { cause },
  )

/** Throws AppError `not_found` for a text that is not an id, so that it never reaches a query. */
export function requireId(prefix: string, id: string, what: string): void {
  if (!isId(prefix, id)) throw notFound(what)
}

const faultAt = (path: string) => (refusal: Refusal) =>
  invalid('body', [{ path, message: `${refusal.reason}: ${refusal.message}` }], refusal)

/**
 * Verifies a signed structure in a request body. Converts a Refusal to a validation error at
 * `path`.
 */
export const verified = <T>(path: string, verify: () => T): T => onRefusal(verify, faultAt(path))

/** Does the same as `verified` for asynchronous verifications. */
export const verifiedLater = <T>(path: string, verify: () => Promise<T>): Promise<T> =>
  onRefusalLater(verify, faultAt(path))

/**
 * Returns the session's device. Throws AppError `no_device` for a machine account's token, which
 * has no device.
 */
export function deviceOf({ device }: Pick<CallerSession, 'device'>): string {
  if (device === null)
    throw new AppError(
      'no_device',
      'This needs a device’s keys, and a machine account’s token has none.',
    )
  return device
}

type Answer = (...given: readonly unknown[]) => Promise<unknown>

/**
 * Returns whether a write failed because it refers to a row that another request has just deleted.
 * The error codes are 23503 (PostgreSQL) and 787 (SQLITE_CONSTRAINT_FOREIGNKEY).
 */
function isOrphaned(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  return code === '23503' || errcode === 787
}

/**
 * Returns wrappers that map database errors to API errors. After an outage, callers can try again,
 * and devices keep their data until then.
 * @param isAway returns whether an error means that the database cannot answer at the moment
 * @returns `reaching` wraps one call, `reachingAll` wraps all answers. The wrapped calls throw
 *   AppError `backend_unavailable` during an outage, and `conflict` if another request deleted a
 *   row to which this one refers.
 */
export function newReach(isAway: (error: unknown) => boolean) {
  async function reaching<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (cause) {
      if (isOrphaned(cause)) throw justDeleted(cause)
      if (!isAway(cause)) throw cause
      throw new AppError(
        'backend_unavailable',
        'The database of the account server is not available at the moment. Try again later.',
        { cause },
      )
    }
  }

  const reachingAll = <A extends object>(answers: A): A =>
    mapRows<Answer, Answer>(
      answers as ByRow<Answer>,
      (answer) =>
        (...given) =>
          reaching(() => answer(...given)),
    ) as unknown as A

  return { reaching, reachingAll }
}
