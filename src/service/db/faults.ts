/**
 * Errors that several groups of answers share, so that the same fault always has the same
 * message.
 */
import { invalid } from '../../api/input.ts'
import type { CallerSession } from '../../api/port.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { type Refusal, onRefusal, onRefusalLater } from '../../crypto/refusal.ts'
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
