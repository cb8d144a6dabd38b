/**
 * Decides from an account's key log how a device may join the account. Its functions are pure,
 * except for new ids.
 */
import { type LoggedKeys, sameKeys } from '../../crypto/device-public-keys.ts'
import { publicKeys } from '../../crypto/device-keys.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { type KeyLog, verifyKeyLog } from '../../crypto/logs/key-log.ts'
import { addFirst, newSalt, resetLog } from '../../crypto/logs/key-log-entries.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { resetsUsedUp, unlessFull } from '../logs/full-logs.ts'
import type { Draft, Way } from './sign-in-draft.ts'
import type { Resetting } from './sign-in-flow.ts'

/** The account server's response to a code or an assertion. */
export interface Opens {
  readonly account_id: string | null
  /** The mailbox of the code; null for an assertion, and for a code that the operator created. */
  readonly email: string | null
  /** The account's verified key log; null if there is none. */
  readonly log: KeyLog | null
}

const seconds = (unixMs: number) => Math.floor(unixMs / 1000)

const nothingToReset = () =>
  new AppError(
    'invalid_state',
    'There is nothing to reset, because this account never had a device. Sign in with "countersignd login".',
    { details: { state: 'no_device_yet' } },
  )

const allLost = () =>
  new AppError(
    'invalid_state',
    'Every device of this account is revoked, so none can approve this one. "countersignd reset" restores the account with this device only. ' +
      'Everyone who follows it sees that its keys changed.',
    { details: { state: 'all_devices_lost' } },
  )

const isOwn = (keys: LoggedKeys | undefined, draft: Draft) =>
  keys !== undefined && sameKeys(keys, publicKeys(draft.keys))

/**
 * Returns the draft's entry if it follows this log and names this device with its keys; or null.
 */
function earlier(draft: Draft, account: string, before: KeyLog | null): string | null {
  const { way, device } = draft
  if (way === null || way.entry === null || way.account !== account) return null
  try {
    const entries = [...(before?.entries ?? []), way.entry]
    const log = verifyKeyLog(account, entries, before ?? undefined)
    return isOwn(log.devices.get(device)?.keys, draft) ? way.entry : null
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

const isVouchedFor = (entry: string): boolean =>
  parseJws(entry, 'keylog+jws').payload.has('recovery_sig')

/**
 * Creates an entry with a recovery signature.
 * @throws AppError conflict if the recovery key signed for another log position or other keys
 */
function vouched(make: () => string): string {
  try {
    return make()
  } catch (cause) {
    if (!(cause instanceof Refusal) || cause.reason !== 'bad_recovery_sig') throw cause
    throw new AppError(
      'conflict',
      'The account changed after the recovery key had signed. Nothing was reset. Run "countersignd reset" again.',
      { cause },
    )
  }
}

/**
 * Returns the entry with which the device added itself; null if another device added it.
 *
 * The device presents this entry again.
 */
export function ownEntry({ entries, devices }: KeyLog, device: string): string | null {
  const entry = entries[devices.get(device)?.addedAt ?? -1]
  if (entry === undefined) return null
  const payload = Buffer.from(entry.split('.')[1] as string, 'base64url').toString()
  return (JSON.parse(payload) as { by: string }).by === device ? entry : null
}

/** Returns the first entry of an account. The account id is derived from the device's keys. */
function first(draft: Draft, now: number): Way {
  const { device, keys, way } = draft
  const entry = way === null ? null : earlier(draft, way.account, null)
  if (way !== null && entry !== null) return { account: way.account, entry }
  return addFirst({ salt: newSalt(), device, keys, at: seconds(now) })
}

/**
 * Returns how a draft joins the account that the server names now.
 * @param resetting `reset` is whether the user confirmed that every earlier device is lost
 * @param now Unix milliseconds
 * @returns null if a new draft is needed, because the draft's device was revoked, or because the
 *   server now names another account. In the second case the server has seen the keys for one
 *   account, and keys are never used for two.
 * @throws AppError invalid_state if the user must decide, backend_error if the log breaks a rule
 * @see protocol, section 3
 */
export function wayIn(opens: Opens, draft: Draft, resetting: Resetting, now: number): Way | null {
  const way = wayBy(opens, draft, resetting, now)
  return draft.way === null || way?.account === draft.way.account ? way : null
}

function wayBy(
  { account_id, log }: Opens,
  draft: Draft,
  { reset, recovery_sig: signature }: Resetting,
  now: number,
): Way | null {
  if (account_id === null || log === null) {
    if (reset) throw nothingToReset()
    return first(draft, now)
  }
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
  const again = earlier(draft, account_id, log)
  // An entry without the recovery signature can no longer be used.
  if (again !== null && (signature === undefined || isVouchedFor(again)))
    return { account: account_id, entry: again }
  const recovery = signature === undefined ? {} : { recovery: { signature } }
  const sign = () => resetLog({ log, device, keys, at: seconds(now), ...recovery })
  const entry = vouched(() => unlessFull(sign, resetsUsedUp))
  return { account: account_id, entry }
}
