/**
 * The key pairs of this device. The keychain holds the private halves in one entry; state.db
 * holds the public part and the list of sealing keys.
 *
 * The keychain always changes first. A crash between the two writes can leave a private half that
 * state.db does not name. It leaves no name without a private half, except for a half that was to
 * be deleted.
 */
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { DeviceKeyPairs } from '../../crypto/device-keys.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { forgetCopies } from './copied-keys.ts'
import type { SealKeys, OwnSealKey } from './own-seal-keys.ts'

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
  new AppError('keychain_locked', 'The keychain has no keys of this device: unlock or restore it.')

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
