/**
 * The daemon's account server, embedded or remote. Other modules do not need to know which one it
 * is.
 */
import type { UnauthenticatedClient } from '../api/port.ts'
import type { AskServer } from '../auth/machines.ts'
import type { ClockSource } from '../device/codes/clock.ts'
import type { Identity } from '../device/identity/identity.ts'
import type { SessionAccount } from '../device/session/session.ts'
import type { Keychain } from '../keychain/backend.ts'
import type { State } from '../state/state.ts'

export interface Backend {
  /** Returns the base URL of the account server's links. */
  url(): string
  /** The origin of the remote account server; null for the embedded one. */
  readonly server: string | null
  /** The calls that a device without a session can make. */
  readonly door: UnauthenticatedClient
  readonly clock: ClockSource
  /**
   * Returns the client through which a device uses its account.
   * @param again signs in again after the server rejected the session, if no user is needed for
   *   that
   */
  accountOf(identity: Identity, again: () => Promise<unknown>): SessionAccount
  /** Checks once that the server and its database respond. Throws AppError if they do not. */
  readonly ready: () => Promise<unknown>
  /** Authenticates a machine account's token, and returns its account. */
  readonly askMachine: AskServer
  /** Creates the embedded account, which needs no sign-in; null for a remote account server. */
  readonly enrol: ((state: State, keychain: Keychain) => Promise<Identity>) | null
  /** Listens for other devices and for guests; null for a remote account server. */
  readonly listen:
    (() => Promise<{ address: string; close(graceMs: number): Promise<void> }>) | null
  /** Ends all calls in progress: they fail. */
  stop(): void
  close(): Promise<void>
}
