/**
 * The identity of this device: its account, its three key pairs and its key log. The state
 * database holds the public part; only the keychain holds the private halves. The curves are
 * loaded, and the keychain is read, when something is first signed or checked.
 */
import type { PublicJwk } from '../../crypto/jose/jwk.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { type OwnKeys, type SealKeyStore, forgetKeys, loadKeys, openSealKeys } from './own-keys.ts'

const SESSION = 'session'
const META = 'identity'

/** The facts about this device that need no keychain. */
export interface Facts {
  readonly account: string
  readonly device: string
  readonly session: string
  /** The thumbprint of the signing key. */
  readonly kid: string
  /** The key of the account server's receipts, pinned at enrolment. */
  readonly receiptKey: PublicJwk
  /**
   * false as long as a further device has not checked the key log that names it. It may only read
   * until then.
   */
  readonly approved: boolean
  /** Whether the key log of the account, as this device last stored it, revokes this device. */
  readonly revoked: boolean
  /**
   * The machine (`mch_…`) that signs in again by its own key, unattended; null for a user's
   * device.
   */
  readonly machine: string | null
  /** The origin of the account server that has the account; null for the embedded one. */
  readonly server: string | null
  /**
   * The mailbox that received the code, according to the account server; null for another proof.
   */
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
  /** Returns the verified key log of the own account from the local cache. */
  readonly keyLog: () => Promise<KeyLog>
}

async function loadKeyLog(state: State, account: string): Promise<KeyLog> {
  const { rememberedLog } = await import('./key-log-cache.ts')
  return rememberedLog(state, account)!
}

/** Stores the facts found at enrolment. */
export const storeFacts = ({ meta }: Pick<State, 'meta'>, facts: Facts): void =>
  meta.set(META, facts)

/** Changes the stored facts. Does nothing where no device is enrolled. */
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

/** Deletes the identity. The facts go first, because without them nothing looks for the keys. */
export function forgetIdentity(state: Pick<State, 'meta'>, keychain: Keychain): void {
  state.meta.delete(META)
  keychain.delete(SESSION)
  forgetKeys(state, keychain)
}

/** Returns the facts about the enrolled device; null before enrolment. */
export function readFacts({ meta }: Pick<State, 'meta'>): Facts | null {
  return meta.get(META) as Facts | null
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
      // The log grows: a device is added or revoked here, or a sync stores new entries.
      const head = state.logs.head('keylog', facts.account)
      if (log === null || log.seq !== head?.seq) log = await loadKeyLog(state, facts.account)
      return log
    },
  }
}
