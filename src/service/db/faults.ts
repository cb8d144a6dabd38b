/**
 * Errors that several groups of answers share, so that the same fault always has the same message;
 * and the errors of the API for those of the database.
 */
import { invalid } from '../../api/input.ts'
import type { CallerSession } from '../../api/port.ts'
import { type ByRow, mapRows } from '../../api/rows.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { onRefusal, onRefusalLater, type Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'

/**
 * Returns the error for a resource that does not exist or belongs to another account. Callers
 * cannot distinguish the two.
 */
export const notFound = (what: string) => new AppError('not_found', `There is no such ${what}.`)

/** Returns the error for a request that was running when its account was deleted. */
export const accountGone = () => new AppError('invalid_token', 'This account was deleted.')

/** Throws `not_found` for a text that cannot be an id, so that it never reaches a query. */
export function requireId(prefix: string, id: string, what: string): void {
  if (!isId(prefix, id)) throw notFound(what)
}

const faultAt = (path: string) => (refusal: Refusal) =>
  invalid('body', [{ path, message: `${refusal.reason}: ${refusal.message}` }], refusal)

/** Verifies a signed structure of the body; a refusal becomes a validation error at `path`. */
export const judged = <T>(path: string, judge: () => T): T => onRefusal(judge, faultAt(path))

/** Verifies as `judged` does, for verifications that let other work run in between. */
export const judgedLater = <T>(path: string, judge: () => Promise<T>): Promise<T> =>
  onRefusalLater(judge, faultAt(path))

/**
 * Returns the device of the session. Throws AppError `no_device` for the token of a machine
 * account, which has none.
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
 * Returns whether a row to be written refers to one that another request has just deleted. The
 * codes are 23503 (PostgreSQL) and 787 (SQLITE_CONSTRAINT_FOREIGNKEY).
 */
function isOrphaned(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  return code === '23503' || errcode === 787
}

/**
 * Returns wrappers that map database errors. After an outage callers may try again, and devices
 * keep their data until then. A reference to a row that another request deleted is a conflict.
 * @param isAway returns whether an error means that the database cannot answer at the moment
 * @returns `reaching` for one call, `reachingAll` for answers by group and name. Both throw
 *   AppError `backend_unavailable`, and `conflict` if a row that the request names was deleted
 *   while it was running
 */
export function newReach(isAway: (error: unknown) => boolean) {
  async function reaching<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (cause) {
      if (isOrphaned(cause))
        throw new AppError(
          'conflict',
          'Something that this request names has just been deleted. Read it again, then try again.',
          { cause },
        )
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
