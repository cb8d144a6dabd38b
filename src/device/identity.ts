/**
 * Who this device is: its account, its three key pairs, its key log. The public part lies in the state database, the private
 * halves only in the keychain. The curves are loaded, and the keychain asked, when something is to be signed or checked.
 */
import type { DeviceKeys, KeyUse } from '../crypto/device-keys.ts'
import type { PublicJwk } from '../crypto/jwk.ts'
import type { KeyLog } from '../crypto/key-log.ts'
import { AppError } from '../errors.ts'
import type { Keychain } from '../keychain/keychain.ts'
import type { State } from '../state/state.ts'

const KEYS = 'device'
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
}

export interface Identity extends Facts {
  /** The private halves. Throws AppError keychain_locked. */
  keys(): Promise<DeviceKeys>
  /** The verified key log of the own account, as this device knows it. */
  keyLog(): Promise<KeyLog>
}

/** Put the private halves into the keychain. */
export function storeKeys(keychain: Keychain, keys: DeviceKeys): void {
  const hex = (use: KeyUse) => Buffer.from(keys[use].secret).toString('hex')
  keychain.set(KEYS, JSON.stringify({ sign: hex('sign'), seal: hex('seal'), auth: hex('auth') }))
}

async function loadKeys(keychain: Keychain): Promise<DeviceKeys> {
  const stored = keychain.get(KEYS)
  if (stored === null)
    throw new AppError(
      'keychain_locked',
      'The keychain has no keys of this device: unlock or restore it.',
    )
  const { sign, seal, auth } = JSON.parse(stored) as Record<KeyUse, string>
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))
  const { deviceKeysFrom } = await import('../crypto/device-keys.ts')
  return deviceKeysFrom({ sign: bytes(sign), seal: bytes(seal), auth: bytes(auth) })
}

async function loadKeyLog({ logs }: State, account: string): Promise<KeyLog> {
  const { verifyKeyLog } = await import('../crypto/key-log.ts')
  return verifyKeyLog(account, logs.read('keylog', account))
}

/** Keep what enrolment found out. */
export const storeFacts = ({ meta }: State, facts: Facts): void => meta.set(META, facts)

/** The identity of an enrolled device, or null before enrolment. */
export function openIdentity(state: State, keychain: Keychain): Identity | null {
  const facts = state.meta.get(META) as Facts | null
  if (facts === null) return null
  let keys: DeviceKeys | null = null
  let log: KeyLog | null = null
  return {
    ...facts,
    keys: async () => (keys ??= await loadKeys(keychain)),
    keyLog: async () => (log ??= await loadKeyLog(state, facts.account)),
  }
}
