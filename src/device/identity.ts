/**
 * Who this device is: its account, its three key pairs, its key log. The public part lies in the state database, the private
 * halves only in the keychain. The curves are loaded, and the keychain asked, when something is to be signed or checked.
 */
import { decodeBase64url, encodeBase64url } from '../crypto/base64url.ts'
import type { DeviceKeys } from '../crypto/device-keys.ts'
import type { PublicJwk } from '../crypto/jwk.ts'
import type { KeyLog } from '../crypto/key-log.ts'
import { AppError } from '../errors.ts'
import type { Keychain } from '../keychain/keychain.ts'
import type { State } from '../state/state.ts'

const KEYS = 'device'
/** The public half of the sealing key, which its private half does not give. */
const SEAL_KEY = 'seal_key'
const SESSION = 'session'
const META = 'identity'

/** What is known of the device without the keychain. */
export interface Facts {
  readonly account: string
  readonly device: string
  readonly session: string
  /** The thumbprint of the signing key. */
  readonly kid: string
  /** The key of the account server's receipts, pinned at enrolment. */
  readonly receiptKey: PublicJwk
  /** false until a further device has checked the key log that names it; until then it may only read. */
  readonly approved: boolean
  /** Whether the key log of the account revokes this device, as far as it knows. */
  readonly revoked: boolean
  /** The machine (`mch_…`) whose own key signs in again without anybody; null for a person's device. */
  readonly machine: string | null
  /** The origin of the account server that has the account; null for the one in this process. */
  readonly server: string | null
  /** The mailbox to which the code was sent, as the account server says; null where it was proven otherwise. */
  readonly email: string | null
}

export interface Identity extends Facts {
  /** The key pairs. Throws AppError keychain_locked. */
  readonly keys: () => Promise<OwnKeys>
  /** The verified key log of the own account, as this device knows it. */
  readonly keyLog: () => Promise<KeyLog>
}

/** The key pairs of this device. */
export interface OwnKeys extends DeviceKeys {
  /** The private halves of all sealing keys that are kept, by id: `seal` is the newest. */
  readonly seals: ReadonlyMap<string, Uint8Array>
}

/** What the keychain holds: private halves in hexadecimal, those of sealing keys by their ids. */
interface StoredKeys {
  readonly sign: string
  readonly auth: string
  /** Absent where protocol 1 wrote the entry. */
  readonly seals?: Readonly<Record<string, string>>
}

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

/** Put the private halves into the keychain, and the sealing key's public half beside them. */
export async function storeKeys(
  { meta }: Pick<State, 'meta'>,
  keychain: Keychain,
  { sign, seal, auth }: DeviceKeys,
): Promise<void> {
  const { sealKeyId } = await import('../crypto/device-public-keys.ts')
  const seals = { [sealKeyId(seal.publicKey)]: hexOf(seal.secret) }
  const stored: StoredKeys = { sign: hexOf(sign.secret), auth: hexOf(auth.secret), seals }
  keychain.set(KEYS, JSON.stringify(stored))
  meta.set(SEAL_KEY, encodeBase64url(seal.publicKey))
}

/** The key pairs of this device; null where the keychain holds none. */
export async function readKeys(
  { meta }: Pick<State, 'meta'>,
  keychain: Keychain,
): Promise<OwnKeys | null> {
  const [stored, sealKey] = [keychain.get(KEYS), meta.get(SEAL_KEY) as string | null]
  if (stored === null || sealKey === null) return null
  const [{ signingKeyFrom }, { sealKeyId }] = await Promise.all([
    import('../crypto/device-keys.ts'),
    import('../crypto/device-public-keys.ts'),
  ])
  const { sign, auth, seals: held = {} } = JSON.parse(stored) as StoredKeys
  const publicKey = decodeBase64url(sealKey)
  const seals = new Map(Object.entries(held).map(([id, hex]) => [id, bytesOf(hex)]))
  const secret = seals.get(sealKeyId(publicKey))
  if (secret === undefined) return null
  const [signing, authentication] = [sign, auth].map((hex) => signingKeyFrom(bytesOf(hex)))
  return { sign: signing!, auth: authentication!, seal: { secret, publicKey }, seals }
}

async function loadKeys(state: State, keychain: Keychain): Promise<OwnKeys> {
  const keys = await readKeys(state, keychain)
  if (keys !== null) return keys
  throw new AppError(
    'keychain_locked',
    'The keychain has no keys of this device: unlock or restore it.',
  )
}

async function loadKeyLog({ logs }: State, account: string): Promise<KeyLog> {
  const { verifyKeyLog } = await import('../crypto/key-log.ts')
  return verifyKeyLog(account, logs.read('keylog', account))
}

/** Keep what enrolment found out. */
export const storeFacts = ({ meta }: Pick<State, 'meta'>, facts: Facts): void =>
  meta.set(META, facts)

/** Change what is known of the device that is enrolled; nothing to do when none is any more. */
export function changeFacts({ meta }: Pick<State, 'meta'>, change: Partial<Facts>): void {
  const stored = meta.get(META) as Facts | null
  if (stored !== null) meta.set(META, { ...stored, ...change })
}

/** Keep the secret by which the session is renewed. */
export const storeSession = (keychain: Keychain, refreshToken: string): void =>
  keychain.set(SESSION, refreshToken)

/** The secret by which the session is renewed. Throws AppError keychain_locked. */
export function readSession(keychain: Keychain): string {
  const token = keychain.get(SESSION)
  if (token !== null) return token
  throw new AppError(
    'keychain_locked',
    'The keychain has no session of this device: unlock or restore it, or sign in anew.',
  )
}

export function forgetKeys({ meta }: Pick<State, 'meta'>, keychain: Keychain): void {
  keychain.delete(KEYS)
  meta.delete(SEAL_KEY)
}

/** Forget who this device is: the facts first, since without them nothing looks for the keys. */
export function forgetIdentity(state: Pick<State, 'meta'>, keychain: Keychain): void {
  state.meta.delete(META)
  keychain.delete(SESSION)
  forgetKeys(state, keychain)
}

/** What is known of the device that is enrolled, or null before enrolment. */
export function readFacts({ meta }: Pick<State, 'meta'>): Facts | null {
  return meta.get(META) as Facts | null
}

/** The identity of an enrolled device, or null before enrolment. */
export function openIdentity(state: State, keychain: Keychain): Identity | null {
  const facts = readFacts(state)
  if (facts === null) return null
  let keys: OwnKeys | null = null
  let log: KeyLog | null = null
  return {
    ...facts,
    keys: async () => (keys ??= await loadKeys(state, keychain)),
    async keyLog() {
      // It grows: a device is added or revoked here, or a sync brings what others did.
      const head = state.logs.head('keylog', facts.account)
      if (log === null || log.seq !== head?.seq) log = await loadKeyLog(state, facts.account)
      return log
    },
  }
}
