/**
 * Resources that the user names by id.
 *
 * The error for a missing resource names a command that lists ids, because users of the command
 * line do not see paths.
 */
import { AppError } from '../errors.ts'
import { type NamedKind, kindOf } from '../api/naming/kinds.ts'

/** Returns the error for an id that no resource of this kind has. */
export const noSuch = (kind: NamedKind) =>
  new AppError(
    'not_found',
    `There is no ${kind} with this id. "countersignd ${kindOf(kind).list.command}" lists the ids.`,
  )

/**
 * Runs a function on the resource with an id.
 * @throws AppError `not_found` with the command line's message
 */
export async function byId<T>(kind: NamedKind, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError && error.code === 'not_found' ? noSuch(kind) : error
  }
}

/**
 * Runs a function on an account that the user named by id.
 *
 * In the function, `not_found` must mean that the account does not exist.
 * @throws AppError `not_found`
 */
export async function ofAccount<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'not_found')) throw error
    throw new AppError(
      'not_found',
      'There is no account with this id. Ask the person for their id ("countersignd whoami" shows it), or invite them by e-mail address.',
      { cause: error },
    )
  }
}
