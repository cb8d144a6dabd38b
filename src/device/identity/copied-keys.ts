/**
 * Copies of this device's keys. Only this device's signing key makes a `renew` of this device. A
 * `renew` in its key log that was not made here therefore shows that another copy of the keys is
 * in use (protocol, section 3). The finding is stored until the keys of this device are deleted.
 */
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import type { MetaRows } from '../../state/meta.ts'
import type { OwnSealKey, SealKeys } from './own-seal-keys.ts'

/** The rows of `meta`. */
const COPY = 'copied_keys'
const RESTORED = 'restored_keys'

type Meta = { readonly meta: Pick<MetaRows, 'get' | 'set' | 'delete'> }

/** The first renewal that was not made here. */
interface CopyFound {
  /** Its place in the key log of the account. */
  readonly seq: number
  readonly device: string
}

/** Returns the ids of all sealing keys that this device made and still lists. */
const namedBy = ({ newest, next, old }: SealKeys): ReadonlySet<string> =>
  new Set([newest, next, ...old].flatMap((key: Pick<OwnSealKey, 'id'> | null) => key?.id ?? []))

/**
 * Returns the first renewal of a device that names a sealing key which was not made here. Only
 * renewals after `kept.seq`, the place of the last comparison, count.
 * @param kept the keys before this comparison
 * @returns its place in the log; null where all renewals were made here
 */
export function foreignRenewal(log: KeyLog, device: string, kept: SealKeys): number | null {
  const known = namedBy(kept)
  const { renewals = [] } = log.devices.get(device) ?? {}
  const foreign = renewals.find(({ seq, seal }) => seq > (kept.seq ?? -1) && !known.has(seal))
  return foreign?.seq ?? null
}

/**
 * Marks the keys in a state folder as restored from a backup. At the next comparison, renewals in
 * the log that were not made here count as those of the device from which the backup was made.
 */
export const markRestored = ({ meta }: Meta): void => meta.set(RESTORED, true)

/**
 * Checks whether the keys were restored from a backup and not compared with the key log since.
 */
export const wasRestored = ({ meta }: Meta): boolean => meta.get(RESTORED) !== null

/**
 * Clears the restored mark when the keys agree with the log. From then on each foreign renewal
 * counts.
 */
export const unmarkRestored = ({ meta }: Meta): void => meta.delete(RESTORED)

/** Stores the first foreign renewal that was found. */
export function noteCopy(state: Meta, found: CopyFound): void {
  if (state.meta.get(COPY) === null) state.meta.set(COPY, found)
}

/** Deletes both rows, together with the keys that they concern. */
export function forgetCopies({ meta }: Meta): void {
  meta.delete(COPY)
  meta.delete(RESTORED)
}

/**
 * Returns a warning about the copy that was found, with the remedy; null where none was found.
 */
export function copyWarning({ meta }: Meta): string | null {
  const found = meta.get(COPY) as CopyFound | null
  if (found === null) return null
  const { seq, device } = found
  return (
    `Another copy of this device's keys is at work: entry ${seq} of the account's key log renews the sealing key of this device, is signed with its key, and was not made here. ` +
    `Revoke this device: "countersignd device revoke ${device}" on another device of the account, or, where there is none, "countersignd reset --recovery-key". Then sign in anew here. ` +
    'Do so as well where this machine was put back to an earlier state, as by a disk image.'
  )
}
