/**
 * The key pairs of this device, and copies of them that are in use elsewhere. The keychain holds
 * the private halves in one entry; state.db holds the public part and the list of sealing keys. The
 * keychain always changes first. A crash between the two writes can leave a private half that
 * state.db does not name. It leaves no name without a private half, except for a half that was to
 * be deleted.
 */
import type { DeviceKeyPairs } from '../../crypto/device-keys.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { tokenEntry } from '../../state/tokens.ts'

/** A sealing key of this device, without its private half. */
export interface OwnSealKey {
  readonly id: string
  /** The 1,216 bytes of its public half, base64url. */
  readonly key: string
  /** When it was made, Unix milliseconds; null until that was recorded. */
  readonly made_at: number | null
}

/** The sealing keys of this device. The keychain holds a private half for each. */
interface SealKeys {
  /** The newest one that the key log is known to name. */
  readonly newest: OwnSealKey
  /** A key that was made, but that the log is not known to name: its entry may be in transit. */
  readonly next: OwnSealKey | null
  readonly old: readonly OldSealKey[]
  /**
   * The place of the own key log at which these keys last agreed with it; null before the first
   * time.
   */
  readonly seq: number | null
}

/** A sealing key that was replaced. */
interface OldSealKey {
  readonly id: string
  /** When this device found the entry that replaced it in the key log, Unix milliseconds. */
  readonly since: number
}

/** The name of the keychain entry. */
const KEYS = 'device'
/** The row of `meta`. */
const SEAL_KEYS = 'seal_keys'

type Meta = Pick<State, 'meta'>

/** The key pairs of this device. */
export interface OwnKeys extends DeviceKeyPairs {
  /** The private halves of all sealing keys that are kept, by key id. `seal` is the newest one. */
  readonly seals: ReadonlyMap<string, Uint8Array>
}

/** The keychain entry: private halves in hexadecimal, those of sealing keys by key id. */
interface StoredKeys {
  readonly sign: string
  readonly auth: string
  readonly seals: Readonly<Record<string, string>>
}

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

const noKeys = () =>
  new AppError(
    'keychain_locked',
    'The keychain has no keys for this device. Unlock or restore the keychain.',
  )

const readSealKeys = ({ meta }: Meta) => meta.get(SEAL_KEYS) as SealKeys | null

/**
 * Writes the private halves to the keychain, and the public part of the sealing key to state.db.
 */
export async function storeKeys(
  { meta }: Meta,
  keychain: Keychain,
  { sign, seal, auth }: DeviceKeyPairs,
): Promise<void> {
  const { sealKeyId } = await import('../../crypto/device-public-keys.ts')
  const id = sealKeyId(seal.publicKey)
  const stored: StoredKeys = {
    sign: hexOf(sign.secret),
    auth: hexOf(auth.secret),
    seals: { [id]: hexOf(seal.secret) },
  }
  keychain.set(KEYS, JSON.stringify(stored))
  const newest = { id, key: encodeBase64url(seal.publicKey), made_at: null }
  meta.set(SEAL_KEYS, { newest, next: null, old: [], seq: null } satisfies SealKeys)
}

/** Returns the key pairs of this device; null where the keychain or state.db lacks them. */
export async function readKeys(
  state: Meta,
  keychain: Pick<Keychain, 'get'>,
): Promise<OwnKeys | null> {
  const [stored, kept] = [keychain.get(KEYS), readSealKeys(state)]
  if (stored === null || kept === null) return null
  const { signingKeyFrom } = await import('../../crypto/device-keys.ts')
  const { sign, auth, seals: held } = JSON.parse(stored) as StoredKeys
  const { id, key } = kept.newest
  const seals = new Map(Object.entries(held).map(([one, hex]) => [one, bytesOf(hex)]))
  const secret = seals.get(id)
  if (secret === undefined) return null
  const [signing, authentication] = [sign, auth].map((hex) => signingKeyFrom(bytesOf(hex)))
  const seal = { secret, publicKey: decodeBase64url(key) }
  return { sign: signing!, auth: authentication!, seal, seals }
}

/**
 * Returns the key pairs of this device.
 * @throws AppError keychain_locked where `readKeys` returns null
 */
export async function loadKeys(state: Meta, keychain: Keychain): Promise<OwnKeys> {
  const keys = await readKeys(state, keychain)
  if (keys === null) throw noKeys()
  return keys
}

export function forgetKeys(state: Meta, keychain: Keychain): void {
  keychain.delete(KEYS)
  state.meta.delete(SEAL_KEYS)
  forgetCopies(state)
}

const idsOf = ({ newest, next, old }: SealKeys): string[] =>
  [newest, ...(next === null ? [] : [next]), ...old].map(({ id }) => id)

export interface SealKeyStore {
  /**
   * Returns the sealing keys of this device.
   * @throws AppError keychain_locked where it has none
   */
  read(): SealKeys
  /**
   * Adds the sealing key that is to become the newest.
   * @param secret its private half, 32 bytes
   * @throws AppError keychain_locked
   */
  add(next: OwnSealKey, secret: Uint8Array): void
  /**
   * Keeps these sealing keys and deletes the private halves of all others from the keychain.
   * @throws AppError keychain_locked
   */
  keep(kept: SealKeys): void
}

/**
 * Opens the store of the sealing keys of this device.
 * @param changed called when key pairs that were read before are out of date
 */
export function openSealKeys(state: Meta, keychain: Keychain, changed: () => void): SealKeyStore {
  function read(): SealKeys {
    const kept = readSealKeys(state)
    if (kept === null) throw noKeys()
    return kept
  }

  /**
   * Writes the private halves of these keys, and no others, to the keychain.
   * @param added private halves that the keychain does not have yet, in hexadecimal, by key id
   */
  function write(kept: SealKeys, added: Readonly<Record<string, string>> = {}): void {
    const stored = keychain.get(KEYS)
    if (stored === null) throw noKeys()
    const { seals, ...rest } = JSON.parse(stored) as StoredKeys
    const wanted = new Set(idsOf(kept))
    const halves = Object.entries({ ...seals, ...added }).filter(([id]) => wanted.has(id))
    const entry: StoredKeys = { ...rest, seals: Object.fromEntries(halves) }
    keychain.set(KEYS, JSON.stringify(entry))
  }

  function note(kept: SealKeys): void {
    state.meta.set(SEAL_KEYS, kept)
    changed()
  }

  return {
    read,
    add(next, secret) {
      const kept = { ...read(), next }
      write(kept, { [next.id]: hexOf(secret) })
      note(kept)
    },
    keep(kept) {
      const wanted = new Set(idsOf(kept))
      if (idsOf(read()).some((id) => !wanted.has(id))) write(kept)
      note(kept)
    },
  }
}

/** The rows of `meta`. */
const COPY = 'copied_keys'
const RESTORED = 'restored_keys'

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
 * Returns the first renewal of a device that names a sealing key which was not made here. Only this
 * device's signing key makes a `renew` of this device, so it shows that another copy of the keys is
 * in use (protocol, section 3). Only renewals after `kept.seq`, the place of the last comparison,
 * count.
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

/** Stores the first foreign renewal that was found, until the keys of this device are deleted. */
export function noteCopy(state: Meta, found: CopyFound): void {
  if (state.meta.get(COPY) === null) state.meta.set(COPY, found)
}

/** Deletes both rows, together with the keys that they concern. */
function forgetCopies({ meta }: Meta): void {
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
    `Another copy of this device's keys is in use. Entry ${seq} of the account's key log renews the sealing key of this device and is signed with its key, but was not created here. ` +
    `Revoke this device: "countersignd device revoke ${device}" on another device of the account, or, if there is none, "countersignd reset --recovery-key". Then sign in again here. ` +
    'Do the same if this machine was restored to an earlier state, for example from a disk image.'
  )
}

/**
 * The secrets of which a device has one each. In order: its keys, its session, the key of its
 * sealed secrets, and the key of a machine account.
 */
const SINGLE = ['device', 'session', 'vault', 'machine'] as const

/**
 * Returns every name under which there may be a secret in the keychain, which cannot list its own
 * entries.
 * @param tokens the ids of all API tokens, including revoked ones and one that is being created
 */
export const secretNames = (tokens: Iterable<string>): string[] => [
  ...SINGLE,
  ...Array.from(tokens, tokenEntry),
]
