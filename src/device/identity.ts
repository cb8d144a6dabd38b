/**
 * Who this device is: its account, its three key pairs, its key log. The public part lies in the state database, the private
 * halves only in the keychain. The curves are loaded, and the keychain asked, when something is to be signed or checked.
 */
import type { DeviceKeys, KeyUse } from '../crypto/device-keys-v1.ts'
import type { PublicJwk } from '../crypto/jwk.ts'
import type { KeyLog } from '../crypto/key-log-v1.ts'
import { AppError } from '../errors.ts'
import type { Keychain } from '../keychain/keychain.ts'
import type { State } from '../state/state.ts'

const KEYS = 'device'
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
  /** false while a further device awaits the word checks of both sides; until then it may only read. */
  readonly approved: boolean
  /** Whether the key log of the account revokes this device, as far as it knows. */
  readonly revoked: boolean
  /** Whether it is a machine account's, whose own key signs in again without anybody. */
  readonly machine: boolean
  /** The origin of the account server that has the account; null for the one in this process. */
  readonly server: string | null
  /** The mailbox to which the code was sent, as the account server says; null where it was proven otherwise. */
  readonly email: string | null
}

/** What is true of a device that enrolled before these facts were written down. */
const EARLIER = {
  approved: true,
  revoked: false,
  machine: false,
  server: null,
  email: null,
} as const

export interface Identity extends Facts {
  /** The private halves. Throws AppError keychain_locked. */
  readonly keys: () => Promise<DeviceKeys>
  /** The verified key log of the own account, as this device knows it. */
  readonly keyLog: () => Promise<KeyLog>
}

/** Put the private halves into the keychain. */
export function storeKeys(keychain: Keychain, keys: DeviceKeys): void {
  const hex = (use: KeyUse) => Buffer.from(keys[use].secret).toString('hex')
  keychain.set(KEYS, JSON.stringify({ sign: hex('sign'), seal: hex('seal'), auth: hex('auth') }))
}

/** The private halves that the keychain holds; null when it holds none. */
export async function readKeys(keychain: Keychain): Promise<DeviceKeys | null> {
  const stored = keychain.get(KEYS)
  if (stored === null) return null
  const { sign, seal, auth } = JSON.parse(stored) as Record<KeyUse, string>
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))
  const { deviceKeysFrom } = await import('../crypto/device-keys-v1.ts')
  return deviceKeysFrom({ sign: bytes(sign), seal: bytes(seal), auth: bytes(auth) })
}

async function loadKeys(keychain: Keychain): Promise<DeviceKeys> {
  const keys = await readKeys(keychain)
  if (keys !== null) return keys
  throw new AppError(
    'keychain_locked',
    'The keychain has no keys of this device: unlock or restore it.',
  )
}

async function loadKeyLog({ logs }: State, account: string): Promise<KeyLog> {
  const { verifyKeyLog } = await import('../crypto/key-log-v1.ts')
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

export const forgetKeys = (keychain: Keychain): void => keychain.delete(KEYS)

/** Forget who this device is: the facts first, since without them nothing looks for the keys. */
export function forgetIdentity({ meta }: Pick<State, 'meta'>, keychain: Keychain): void {
  meta.delete(META)
  keychain.delete(SESSION)
  forgetKeys(keychain)
}

/** What is known of the device that is enrolled, or null before enrolment. */
export function readFacts({ meta }: Pick<State, 'meta'>): Facts | null {
  const stored = meta.get(META) as Facts | null
  return stored && { ...EARLIER, ...stored }
}

/** The identity of an enrolled device, or null before enrolment. */
export function openIdentity(state: State, keychain: Keychain): Identity | null {
  const facts = readFacts(state)
  if (facts === null) return null
  let keys: DeviceKeys | null = null
  let log: KeyLog | null = null
  return {
    ...facts,
    keys: async () => (keys ??= await loadKeys(keychain)),
    async keyLog() {
      // It grows: a device is added or revoked here, or a sync brings what others did.
      const head = state.logs.head('keylog', facts.account)
      if (log === null || log.seq !== head?.seq) log = await loadKeyLog(state, facts.account)
      return log
    },
  }
}
