/**
 * When this device renews its sealing key, and when it deletes an old private half (protocol,
 * section 3). Needs no curves: most syncs find nothing to do. Times are those of this device's clock;
 * one that lies ahead of it, because the clock was set back since, counts as now.
 */
import { wasRestored } from '../identity/copied-keys.ts'
import type { DeviceContext } from '../context.ts'
import type { OwnSealKey } from '../identity/own-seal-keys.ts'

const DAY_MS = 24 * 3_600_000
/** A sealing key is renewed at this age, in milliseconds. */
const RENEWED_MS = 90 * DAY_MS
/** An old private half is kept so long after the server took the new key, in milliseconds. */
export const KEPT_MS = 7 * DAY_MS

export type Sealing = Pick<DeviceContext, 'state' | 'identity' | 'now'>

/** Whether a sealing key has reached the age at which it is renewed. */
export const isOld = ({ made_at }: OwnSealKey, now: number): boolean =>
  made_at !== null && now - made_at >= RENEWED_MS

/** Notes the age of the newest key from now on where it is not known, or lies in the future. */
function noteAge({ identity: { sealKeys }, now }: Sealing): void {
  const [kept, at] = [sealKeys.read(), now()]
  const { newest } = kept
  if (newest.made_at === null || newest.made_at > at)
    sealKeys.keep({ ...kept, newest: { ...newest, made_at: at } })
}

/**
 * Whether the sealing keys have to be compared with the own key log, or renewed: the log has grown,
 * an entry may be on its way, 90 days are over, or the keys were restored from a backup.
 * @throws AppError keychain_locked where this device has no keys
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
 * Deletes private halves that were replaced 7 days ago. Called when the envelopes of this device
 * were fetched and opened.
 * @throws AppError keychain_locked
 */
export function deleteOldHalves({ identity: { sealKeys }, now }: Sealing): void {
  const [kept, at] = [sealKeys.read(), now()]
  const old = kept.old
    .map(({ id, since }) => ({ id, since: Math.min(since, at) }))
    .filter(({ since }) => at - since < KEPT_MS)
  const isSame =
    old.length === kept.old.length && old.every((one, i) => one.since === kept.old[i]!.since)
  if (!isSame) sealKeys.keep({ ...kept, old })
}
