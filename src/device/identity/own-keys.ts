/**
 * This device's key pairs, and the detection of copies of them in use elsewhere.
 *
 * One keychain entry contains the private keys. `state.db` contains the public part and the list of
 * sealing keys. The keychain is always written first. So a crash between the two writes may leave a
 * private key that `state.db` does not list, but a listed key is missing only if it was about to be
 * deleted.
 */
import type { DeviceKeyPairs } from '../../crypto/device-keys.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { tokenEntry } from '../../state/tokens.ts'

/** A sealing key of this device, without its private key. */
export interface OwnSealKey {
  readonly id: string
  /** The public key: 1,216 bytes, base64url. */
  readonly key: string
  /** When the key was created, Unix milliseconds; null if not recorded yet. */
  readonly made_at: number | null
}

/** This device's sealing keys. The keychain has the private key of each. */
interface SealKeys {
  /** The newest key that the key log is known to name. */
  readonly newest: OwnSealKey
  /**
   * A key that was created but may not be in the key log yet, because its entry may be in transit.
   */
  readonly next: OwnSealKey | null
  readonly old: readonly OldSealKey[]
  /** The seq of the own key log when these keys last agreed with it; null if they never did. */
  readonly seq: number | null
}

/** A sealing key that was replaced. */
interface OldSealKey {
  readonly id: string
  /** When this device first saw the replacement in the key log, Unix milliseconds. */
  readonly since: number
}

/** The name of the keychain entry. */
const KEYS = 'device'
/** The name of the meta row. */
const SEAL_KEYS = 'seal_keys'

type Meta = Pick<State, 'meta'>

/** The key pairs of this device. */
export interface OwnKeys extends DeviceKeyPairs {
  /** The private keys of all stored sealing keys, by key id. `seal` is the newest one. */
  readonly seals: ReadonlyMap<string, Uint8Array>
}

/** The keychain entry: private keys in hexadecimal; sealing keys by key id. */
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

/** Writes the private keys to the keychain, and the public sealing key to `state.db`. */
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

/** Returns this device's key pairs; null if the keychain or `state.db` lacks them. */
export async function readKeys(
  state: Meta,
  keychain: Pick<Keychain, 'get'>,
): Promise<OwnKeys | null> {
  const [stored, sealKeys] = [keychain.get(KEYS), readSealKeys(state)]
  if (stored === null || sealKeys === null) return null
  const { signingKeyFrom } = await import('../../crypto/device-keys.ts')
  const { sign, auth, seals: sealSecrets } = JSON.parse(stored) as StoredKeys
  const { id, key } = sealKeys.newest
  const seals = new Map(Object.entries(sealSecrets).map(([one, hex]) => [one, bytesOf(hex)]))
  const secret = seals.get(id)
  if (secret === undefined) return null
  const [signing, authentication] = [sign, auth].map((hex) => signingKeyFrom(bytesOf(hex)))
  const seal = { secret, publicKey: decodeBase64url(key) }
  return { sign: signing!, auth: authentication!, seal, seals }
}

/**
 * Returns this device's key pairs.
 * @throws AppError keychain_locked if the keychain or `state.db` lacks them
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
   * @throws AppError keychain_locked if there are none
   */
  read(): SealKeys
  /**
   * Adds the sealing key that will become the newest.
   * @param secret its private key, 32 bytes
   * @throws AppError keychain_locked
   */
  add(next: OwnSealKey, secret: Uint8Array): void
  /**
   * Stores these sealing keys, and deletes all other private sealing keys from the keychain.
   * @throws AppError keychain_locked
   */
  keep(keys: SealKeys): void
}

/**
 * Opens the store of this device's sealing keys.
 * @param changed called when key pairs that were read earlier become outdated
 */
export function openSealKeys(state: Meta, keychain: Keychain, changed: () => void): SealKeyStore {
  function read(): SealKeys {
    const keys = readSealKeys(state)
    if (keys === null) throw noKeys()
    return keys
  }

  /**
   * Writes the private keys of these sealing keys to the keychain, and deletes all others.
   * @param added new private keys in hexadecimal, by key id
   */
  function write(keys: SealKeys, added: Readonly<Record<string, string>> = {}): void {
    const stored = keychain.get(KEYS)
    if (stored === null) throw noKeys()
    const { seals, ...rest } = JSON.parse(stored) as StoredKeys
    const wanted = new Set(idsOf(keys))
    const wantedSecrets = Object.entries({ ...seals, ...added }).filter(([id]) => wanted.has(id))
    const entry: StoredKeys = { ...rest, seals: Object.fromEntries(wantedSecrets) }
    keychain.set(KEYS, JSON.stringify(entry))
  }

  function note(keys: SealKeys): void {
    state.meta.set(SEAL_KEYS, keys)
    changed()
  }

  return {
    read,
    add(next, secret) {
      const keys = { ...read(), next }
      write(keys, { [next.id]: hexOf(secret) })
      note(keys)
    },
    keep(keys) {
      const wanted = new Set(idsOf(keys))
      if (idsOf(read()).some((id) => !wanted.has(id))) write(keys)
      note(keys)
    },
  }
}

/** The names of the meta rows. */
const COPY = 'copied_keys'
const RESTORED = 'restored_keys'

/** The first renewal of the sealing key that this device did not make. */
interface CopyFound {
  /** Its seq in the account's key log. */
  readonly seq: number
  readonly device: string
}

/** Returns the ids of all sealing keys that this device created and still lists. */
const namedBy = ({ newest, next, old }: SealKeys): ReadonlySet<string> =>
  new Set([newest, next, ...old].flatMap((key: Pick<OwnSealKey, 'id'> | null) => key?.id ?? []))

/**
 * Returns the first renewal of this device's sealing key that this device did not make.
 *
 * Only this device's signing key can sign such a renewal, so it shows that a copy of the keys is in
 * use (protocol, section 3). Renewals up to `kept.seq`, the last comparison, do not count.
 * @param keys the keys before this comparison
 * @returns the renewal's seq in the log; null if this device made all renewals
 */
export function foreignRenewal(log: KeyLog, device: string, keys: SealKeys): number | null {
  const known = namedBy(keys)
  const { renewals = [] } = log.devices.get(device) ?? {}
  const foreign = renewals.find(({ seq, seal }) => seq > (keys.seq ?? -1) && !known.has(seal))
  return foreign?.seq ?? null
}

/**
 * Marks the keys as restored from a backup. At the next comparison, renewals in the log that are
 * unknown here are assumed to be by the device that was backed up.
 */
export const markRestored = ({ meta }: Meta): void => meta.set(RESTORED, true)

/** Checks whether the keys were restored from a backup and not yet compared with the key log. */
export const wasRestored = ({ meta }: Meta): boolean => meta.get(RESTORED) !== null

/**
 * Clears the restored mark, when the keys agree with the log. Each unknown renewal then counts
 * again.
 */
export const unmarkRestored = ({ meta }: Meta): void => meta.delete(RESTORED)

/**
 * Stores the first renewal by a copy of the keys. It stays until this device's keys are deleted.
 */
export function noteCopy(state: Meta, found: CopyFound): void {
  if (state.meta.get(COPY) === null) state.meta.set(COPY, found)
}

/** Deletes the meta rows about copied and restored keys, together with the keys. */
function forgetCopies({ meta }: Meta): void {
  meta.delete(COPY)
  meta.delete(RESTORED)
}

/** Returns a warning about a copy of the keys, with the remedy; null if none was found. */
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
 * The secrets that each device has only once.
 *
 * In order: its keys, its session, the key of its sealed secrets, and a machine account's key.
 */
const SINGLE = ['device', 'session', 'vault', 'machine'] as const

/**
 * Returns every name that a keychain secret may have. The keychain cannot list its entries.
 * @param tokens the ids of all API tokens, including revoked ones and one that is being created
 */
export const secretNames = (tokens: Iterable<string>): string[] => [
  ...SINGLE,
  ...Array.from(tokens, tokenEntry),
]
