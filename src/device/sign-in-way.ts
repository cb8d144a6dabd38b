/** How a device may join the account that its code or key opens, as the account's key log says. Pure but for new ids. */
import { type DeviceJwks, publicKeys, sameKeys } from '../crypto/device-keys-v1.ts'
import { PREFIX, newId } from '../crypto/id.ts'
import { type KeyLog, addFirst, resetLog, verifyKeyLog } from '../crypto/key-log-v1.ts'
import { Refusal } from '../crypto/refusal.ts'
import { AppError } from '../errors.ts'
import { judged } from './key-log.ts'
import type { Draft, Way } from './sign-in-draft.ts'

/** What the account server tells of a code or an assertion. */
export interface Opens {
  readonly account_id: string | null
  /** The mailbox to which the code was sent; null for an assertion, and a code that the operator made. */
  readonly email: string | null
  readonly key_log: readonly string[]
}

const seconds = (unixMs: number) => Math.floor(unixMs / 1000)

const nothingToReset = () =>
  new AppError(
    'invalid_state',
    'There is nothing to reset: this account never had a device. Sign in with "countersignd login".',
    { details: { state: 'no_device_yet' } },
  )

const allLost = () =>
  new AppError(
    'invalid_state',
    'Every device of this account is revoked, so none can approve this one. "countersignd reset" brings the account back with this device alone; ' +
      'everybody who follows it sees that its keys changed.',
    { details: { state: 'all_devices_lost' } },
  )

const isOwn = (keys: DeviceJwks | undefined, draft: Draft) =>
  keys !== undefined && sameKeys(keys, publicKeys(draft.keys))

/** The entry of the draft where it still fits: it must follow these entries and name this device with these keys. */
function earlier(draft: Draft, account: string, before: readonly string[]): string | null {
  const { way, device } = draft
  if (way === null || way.entry === null || way.account !== account) return null
  try {
    const log = verifyKeyLog(account, [...before, way.entry])
    return isOwn(log.devices.get(device)?.keys, draft) ? way.entry : null
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/** Whether the device vouched for itself when it came in: then it presents that entry again. */
export function ownEntry({ entries, devices }: KeyLog, device: string): string | null {
  const entry = entries[devices.get(device)?.addedAt ?? -1]
  if (entry === undefined) return null
  const payload = Buffer.from(entry.split('.')[1] as string, 'base64url').toString()
  return (JSON.parse(payload) as { by: string }).by === device ? entry : null
}

function first(draft: Draft, account: string | null, now: number): Way {
  const { device, keys, way } = draft
  const tried = account ?? way?.account
  const entry = tried === undefined ? null : earlier(draft, tried, [])
  if (tried !== undefined && entry !== null) return { account: tried, entry }
  const made = account ?? newId(PREFIX.account, now)
  const at = seconds(now)
  return { account: made, entry: addFirst({ account: made, device, keys, at }) }
}

/**
 * How a draft joins an account, with the account that the server names now.
 * @param reset whether the person said that every earlier device is lost
 * @param now Unix milliseconds
 * @returns null when the draft is spent and a new one is needed: its device was revoked, or the
 *   server names another account than before. The server has seen the keys by then, and the account
 *   id is part of the six words: with the same keys it could search for an id that gives the words
 *   of a device of its own.
 * @throws AppError invalid_state where only the person can decide, backend_error for a log that breaks a rule
 */
export function wayIn(opens: Opens, draft: Draft, reset: boolean, now: number): Way | null {
  const way = wayBy(opens, draft, reset, now)
  return draft.way === null || way?.account === draft.way.account ? way : null
}

function wayBy(
  { account_id, key_log }: Opens,
  draft: Draft,
  reset: boolean,
  now: number,
): Way | null {
  if (account_id === null || key_log.length === 0) {
    if (reset) throw nothingToReset()
    return first(draft, account_id, now)
  }
  const log = judged(() => verifyKeyLog(account_id, key_log))
  const own = log.devices.get(draft.device)
  if (own !== undefined) {
    if (own.revokedAt !== null || !isOwn(own.keys, draft)) return null
    return { account: account_id, entry: ownEntry(log, own.id) }
  }
  if (!reset) {
    if (log.active.length === 0) throw allLost()
    return { account: account_id, entry: null }
  }
  const { device, keys } = draft
  const again = earlier(draft, account_id, key_log)
  return { account: account_id, entry: again ?? resetLog({ log, device, keys, at: seconds(now) }) }
}
