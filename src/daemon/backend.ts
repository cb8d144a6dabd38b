/** The account server of a daemon: the one in its own process, or one far away. Beyond this file nobody asks which it is. */
import type { Door } from '../api/port.ts'
import type { AskServer } from '../auth/machines.ts'
import type { ServerClock } from '../device/codes/clock.ts'
import type { Identity } from '../device/identity/identity.ts'
import type { SeatAccount } from '../device/session/each-call.ts'
import type { Keychain } from '../keychain/backend.ts'
import type { State } from '../state/state.ts'

export interface Backend {
  /** What its links begin with: its base URL. */
  url(): string
  /** Its origin, where people sign in to it; null for the one in this process. */
  readonly server: string | null
  /** What a device may ask before it has a session. */
  readonly door: Door
  readonly clock: ServerClock
  /**
   * The account of a device.
   * @param again makes a session anew that the server takes no more, where that goes without anybody
   */
  accountOf(identity: Identity, again: () => Promise<unknown>): SeatAccount
  /** Ask once whether it and its database answer. Throws AppError while they do not. */
  readonly ready: () => Promise<unknown>
  /** Whose a machine account's token is. */
  readonly askMachine: AskServer
  /** Make the account that needs no sign-in; null where there is none. */
  readonly enrol: ((state: State, keychain: Keychain) => Promise<Identity>) | null
  /** Listen for other devices and for guests; null where there is nothing to serve. */
  readonly listen:
    (() => Promise<{ address: string; close(graceMs: number): Promise<void> }>) | null
  /** Answer nothing any more: what waits for an answer fails. */
  stop(): void
  close(): Promise<void>
}
