/**
 * Copies of this device's keys. Only this device's signing key makes a `renew` of this device, so one
 * in its key log that was not made here shows that another copy of the keys is at work (protocol,
 * section 3). What was found stays until the keys of this device are deleted.
 */
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import type { MetaRows } from '../../state/meta.ts'
import type { OwnSealKey, SealKeys } from './own-seal-keys.ts'

/** The rows of `meta`. */
const COPY = 'copied_keys'
const RESTORED = 'restored_keys'

type Meta = { readonly meta: Pick<MetaRows, 'get' | 'set' | 'delete'> }

/** The renewal that was not made here, as it was first found. */
interface CopyFound {
  /** Its place in the key log of the account. */
  readonly seq: number
  readonly device: string
}

/** Every sealing key that this device made and still knows. */
const namedBy = ({ newest, next, old }: SealKeys): ReadonlySet<string> =>
  new Set([newest, next, ...old].flatMap((key: Pick<OwnSealKey, 'id'> | null) => key?.id ?? []))

/**
 * The first renewal of a device after the place up to which its keys were compared with the log, by
 * which the log names a key that was not made here.
 * @param kept the keys as they were before this comparison
 * @returns its place in the log; null where all renewals were made here
 */
export function foreignRenewal(log: KeyLog, device: string, kept: SealKeys): number | null {
  const known = namedBy(kept)
  const { renewals = [] } = log.devices.get(device) ?? {}
  const foreign = renewals.find(({ seq, seal }) => seq > (kept.seq ?? -1) && !known.has(seal))
  return foreign?.seq ?? null
}

/**
 * Marks the keys in a state folder as restored from a backup: the renewals that the log has by now
 * are then taken for those of the device that the backup is of.
 */
export const markRestored = ({ meta }: Meta): void => meta.set(RESTORED, true)

/** Whether the keys were restored from a backup, and not compared with the key log since. */
export const wasRestored = ({ meta }: Meta): boolean => meta.get(RESTORED) !== null

/** The keys of this device agree with the log: from now on every foreign renewal counts. */
export const unmarkRestored = ({ meta }: Meta): void => meta.delete(RESTORED)

/** Keeps the first foreign renewal that was found. */
export function noteCopy(state: Meta, found: CopyFound): void {
  if (state.meta.get(COPY) === null) state.meta.set(COPY, found)
}

/** Forgets both, with the keys that they are about. */
export function forgetCopies({ meta }: Meta): void {
  meta.delete(COPY)
  meta.delete(RESTORED)
}

/** What the person must know of a copy that was found, and do; null where none was. */
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
