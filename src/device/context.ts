/** The dependencies that the modules of a signed-in device share. */
import type { State } from '../state/state.ts'
import type { Codes } from './codes/codes.ts'
import type { Identity } from './identity/identity.ts'
import type { Vault } from './identity/vault.ts'

export interface DeviceContext {
  /** Unix milliseconds. */
  readonly now: () => number
  readonly state: State
  readonly identity: Identity
  readonly vault: Vault
  readonly codes: Codes
  /**
   * Schedules a sync now, and more syncs while another device may still respond to a change made
   * here. Does not wait for them. Does nothing unless the daemon is serving.
   */
  readonly syncSoon: () => void
  /**
   * Requires that this device is still signed in. Responses that arrive later are not stored.
   * @throws AppError not_signed_in if this device has signed out
   */
  readonly requireSession: () => void
}
