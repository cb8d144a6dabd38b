/** The errors that several groups answer with, so that one fault reads the same everywhere. */
import { invalid } from '../../api/input.ts'
import type { Session } from '../../api/port.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { type Refusal, onRefusal, onRefusalLater } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'

/** There is no such thing, or it is somebody else's: the caller cannot tell which. */
export const notFound = (what: string) => new AppError('not_found', `There is no such ${what}.`)

/** It was deleted while a request of its own was on its way, which comes too late. */
export const accountGone = () => new AppError('invalid_token', 'This account was deleted.')

/** Throws `not_found` for a text that cannot be an id, so that no query sees it. */
export function demandId(prefix: string, id: string, what: string): void {
  if (!isId(prefix, id)) throw notFound(what)
}

const faultAt = (path: string) => (refusal: Refusal) =>
  invalid('body', [{ path, message: `${refusal.reason}: ${refusal.message}` }], refusal)

/** Judge a signed structure of the body; a refusal is the caller's fault at `path`. */
export const judged = <T>(path: string, judge: () => T): T => onRefusal(judge, faultAt(path))

/** As `judged`, for a judgement that lets other work run meanwhile. */
export const judgedLater = <T>(path: string, judge: () => Promise<T>): Promise<T> =>
  onRefusalLater(judge, faultAt(path))

/** The device that asks. Throws AppError `no_device` for a bearer of a machine account's token, who has none. */
export function deviceOf({ device }: Pick<Session, 'device'>): string {
  if (device === null)
    throw new AppError(
      'no_device',
      'This takes the keys of a device, and a machine account’s token has none.',
    )
  return device
}
