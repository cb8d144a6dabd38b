/**
 * Maps database errors to errors of the API. After an outage callers may try again, and devices
 * keep their data until then. A reference to a row that another request deleted is a conflict.
 */
import { type ByRow, mapRows } from '../../api/rows.ts'
import { AppError } from '../../errors.ts'

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
 * Returns wrappers that map database errors.
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
          'Something that this names was deleted a moment ago: read it again and decide anew.',
          { cause },
        )
      if (!isAway(cause)) throw cause
      throw new AppError(
        'backend_unavailable',
        'The database of the account server cannot answer at the moment: try again in a while.',
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
