/**
 * Decides when to renew the sealing key and when to delete an old private key.
 *
 * This module does not load the elliptic curve code, because most syncs have nothing to do here.
 * Times are from this device's clock. A time in the future, which exists after the clock was set
 * back, counts as now.
 * @see protocol, section 3
 */
import { wasRestored, type OwnSealKey } from '../identity/own-keys.ts'
import type { DeviceContext } from '../context.ts'

const DAY_MS = 24 * 3_600_000
/** The age at which a sealing key is renewed, in milliseconds. */
const RENEWED_MS = 90 * DAY_MS
/** How long an old private key is kept after the server accepted the new key, in milliseconds. */
export const OLD_KEY_KEPT_MS = 7 * DAY_MS

export type Sealing = Pick<DeviceContext, 'state' | 'identity' | 'now'>

/** Checks whether a sealing key has reached the age for renewal. */
export const isOld = ({ made_at }: OwnSealKey, now: number): boolean =>
  made_at !== null && now - made_at >= RENEWED_MS

/** Sets the newest key's time to now if it is unknown or in the future. */
function noteAge({ identity: { sealKeys }, now }: Sealing): void {
  const [keys, at] = [sealKeys.read(), now()]
  const { newest } = keys
  if (newest.made_at === null || newest.made_at > at)
    sealKeys.keep({ ...keys, newest: { ...newest, made_at: at } })
}

/**
 * Checks whether the sealing keys must be compared with the key log, or renewed.
 *
 * That is the case if the log has grown, an entry may be in transit, the newest key is 90 days old,
 * or the keys were restored from a backup.
 * @throws AppError keychain_locked if this device has no keys
 */
export function isRenewalDue(device: Sealing): boolean {
  noteAge(device)
  const { state, identity, now } = device
  const { newest, next, seq } = identity.sealKeys.read()
  const head = state.logs.head('keylog', identity.account)
  if (next !== null || seq !== (head?.seq ?? null)) return true
  return isOld(newest, now()) || wasRestored(state)
}

/**
 * Deletes private keys that were replaced at least 7 days ago.
 *
 * Must be called after this device's envelopes were fetched and opened.
 * @throws AppError keychain_locked
 */
export function deleteOldHalves({ identity: { sealKeys }, now }: Sealing): void {
  const [keys, at] = [sealKeys.read(), now()]
  const old = keys.old
    .map(({ id, since }) => ({ id, since: Math.min(since, at) }))
    .filter(({ since }) => at - since < OLD_KEY_KEPT_MS)
  const isSame =
    old.length === keys.old.length && old.every((one, i) => one.since === keys.old[i]!.since)
  if (!isSame) sealKeys.keep({ ...keys, old })
}
