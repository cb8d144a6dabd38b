/** The account server of a daemon, embedded or remote. No other module depends on which it is. */
import type { UnauthenticatedClient } from '../api/port.ts'
import type { AskServer } from '../auth/machines.ts'
import type { ClockSource } from '../device/codes/clock.ts'
import type { Identity } from '../device/identity/identity.ts'
import type { SessionAccount } from '../device/session/session.ts'
import type { Keychain } from '../keychain/backend.ts'
import type { State } from '../state/state.ts'

export interface Backend {
  /** Returns the base URL of its links. */
  url(): string
  /** The origin at which users sign in; null for the embedded account server. */
  readonly server: string | null
  /** The calls of a device that has no session yet. */
  readonly door: UnauthenticatedClient
  readonly clock: ClockSource
  /**
   * Returns the account of a device.
   * @param again renews a rejected session if that needs no user interaction
   */
  accountOf(identity: Identity, again: () => Promise<unknown>): SessionAccount
  /** Checks once that the server and its database respond. Throws AppError if they do not. */
  readonly ready: () => Promise<unknown>
  /** Looks up the account of a machine account's token. */
  readonly askMachine: AskServer
  /** Creates the account that needs no sign-in; null if there is none. */
  readonly enrol: ((state: State, keychain: Keychain) => Promise<Identity>) | null
  /** Listens for other devices and for guests; null if there is nothing to serve. */
  readonly listen:
    (() => Promise<{ address: string; close(graceMs: number): Promise<void> }>) | null
  /** Stops all answers: pending calls fail. */
  stop(): void
  close(): Promise<void>
}
