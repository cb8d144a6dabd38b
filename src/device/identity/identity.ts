/**
 * Who this device is: its account, its three key pairs, its key log. The public part lies in the state database, the private
 * halves only in the keychain. The curves are loaded, and the keychain asked, when something is to be signed or checked.
 */
import type { PublicJwk } from '../../crypto/jose/jwk.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { type OwnKeys, type SealKeyStore, forgetKeys, loadKeys, openSealKeys } from './own-keys.ts'

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
  /** The machine (`mch_…`) that signs in again by its own key, unattended; null for a person's device. */
  readonly machine: string | null
  /** The origin of the account server that has the account; null for the one in this process. */
  readonly server: string | null
  /** The mailbox to which the code was sent, as the account server says; null where it was proven otherwise. */
  readonly email: string | null
}

export interface Identity extends Facts {
  /** The key pairs. Throws AppError keychain_locked. */
  readonly keys: () => Promise<OwnKeys>
  /** Which sealing keys this device has. */
  readonly sealKeys: SealKeyStore
  /** The verified key log of the own account, as this device knows it. */
  readonly keyLog: () => Promise<KeyLog>
}

async function loadKeyLog(state: State, account: string): Promise<KeyLog> {
  const { rememberedLog } = await import('./key-log-cache.ts')
  return rememberedLog(state, account)!
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
  let keys: Promise<OwnKeys> | null = null
  let log: KeyLog | null = null

  function keysHere(): Promise<OwnKeys> {
    const loading = (keys ??= loadKeys(state, keychain))
    // A keychain that is locked now may be open the next time.
    void loading.catch(() => {
      if (keys === loading) keys = null
    })
    return loading
  }

  return {
    ...facts,
    keys: keysHere,
    sealKeys: openSealKeys(state, keychain, () => {
      keys = null
    }),
    async keyLog() {
      // It grows: a device is added or revoked here, or a sync brings what others did.
      const head = state.logs.head('keylog', facts.account)
      if (log === null || log.seq !== head?.seq) log = await loadKeyLog(state, facts.account)
      return log
    },
  }
}
