/**
 * This device's identity: its account, its three key pairs and its key log. The state database has
 * the public part. Only the keychain has the private keys. The elliptic curve code is loaded and
 * the keychain read when this device first signs or verifies.
 */
import type { PublicJwk } from '../../crypto/jose/jwk.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { type OwnKeys, type SealKeyStore, forgetKeys, loadKeys, openSealKeys } from './own-keys.ts'

const SESSION = 'session'
const META = 'identity'
const SERVER = 'server'

/** The facts about this device that can be read without the keychain. */
export interface Facts {
  readonly account: string
  readonly device: string
  readonly session: string
  /** The thumbprint of the signing key. */
  readonly kid: string
  /** The public key that signs the account server's receipts, stored at enrolment. */
  readonly receiptKey: PublicJwk
  /**
   * False until a device that joined an existing account has verified the key log that names it.
   * Until then, the device may only read.
   */
  readonly approved: boolean
  /** Whether the account's key log, as last stored here, has revoked this device. */
  readonly revoked: boolean
  /** The machine account (`mch_…`) that signs in again without a user; null for a user's device. */
  readonly machine: string | null
  /** The origin of the account server; null for the embedded one. */
  readonly server: string | null
  /** The mailbox of the sign-in code, as the account server reported it; null for another proof. */
  readonly email: string | null
}

export interface Identity extends Facts {
  /**
   * Loads the key pairs.
   * @throws AppError keychain_locked
   */
  readonly keys: () => Promise<OwnKeys>
  /** The sealing keys of this device. */
  readonly sealKeys: SealKeyStore
  /** Returns the own account's verified key log from the state database. */
  readonly keyLog: () => Promise<KeyLog>
}

async function loadKeyLog(state: State, account: string): Promise<KeyLog> {
  const { rememberedLog } = await import('./key-log-cache.ts')
  return rememberedLog(state, account)!
}

/** Stores the facts about this device that its enrolment established. */
export const storeFacts = ({ meta }: Pick<State, 'meta'>, facts: Facts): void =>
  meta.set(META, facts)

/** Changes the stored facts. Does nothing if no device is enrolled. */
export function changeFacts({ meta }: Pick<State, 'meta'>, change: Partial<Facts>): void {
  const stored = meta.get(META) as Facts | null
  if (stored !== null) meta.set(META, { ...stored, ...change })
}

/** Stores the secret that renews the session. */
export const storeSession = (keychain: Keychain, refreshToken: string): void =>
  keychain.set(SESSION, refreshToken)

/**
 * Returns the secret that renews the session.
 * @throws AppError keychain_locked
 */
export function readSession(keychain: Keychain): string {
  const token = keychain.get(SESSION)
  if (token !== null) return token
  throw new AppError(
    'keychain_locked',
    'The keychain has no session for this device. Unlock or restore the keychain, or sign in again.',
  )
}

/**
 * Deletes the identity. The facts are deleted first, because without facts the keys are never used.
 */
export function forgetIdentity(state: Pick<State, 'meta'>, keychain: Keychain): void {
  state.meta.delete(META)
  keychain.delete(SESSION)
  forgetKeys(state, keychain)
}

/** Returns the facts about the enrolled device; null before enrolment. */
export function readFacts({ meta }: Pick<State, 'meta'>): Facts | null {
  return meta.get(META) as Facts | null
}

/**
 * Returns the origin of the account server to which this folder belongs: the server of its device,
 * or the one to which it last signed in, or began to.
 *
 * Null for a folder with an embedded account, and for one that never used an account server.
 */
export function knownServer({ meta }: Pick<State, 'meta'>): string | null {
  const facts = readFacts({ meta })
  return facts === null ? (meta.get(SERVER) as string | null) : facts.server
}

/** Stores the account server to which this folder belongs; null deletes it. */
export function rememberServer({ meta }: Pick<State, 'meta'>, server: string | null): void {
  if (server === null) meta.delete(SERVER)
  else meta.set(SERVER, server)
}

/** Opens the identity of an enrolled device; null before enrolment. */
export function openIdentity(state: State, keychain: Keychain): Identity | null {
  const facts = readFacts(state)
  if (facts === null) return null
  let keys: Promise<OwnKeys> | null = null
  let log: KeyLog | null = null

  function keysHere(): Promise<OwnKeys> {
    const loading = (keys ??= loadKeys(state, keychain))
    // A keychain that is locked now may be unlocked at the next call.
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
      // The log may have grown: a device was added or revoked here, or a sync stored new entries.
      const head = state.logs.head('keylog', facts.account)
      if (log === null || log.seq !== head?.seq) log = await loadKeyLog(state, facts.account)
      return log
    },
  }
}
