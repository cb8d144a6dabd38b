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
   * Schedules a sync now, and further ones while another device may still answer a change made
   * here. Does not wait for them. Does nothing unless the daemon serves.
   */
  readonly syncSoon: () => void
  /**
   * Checks that this device is still signed in. Later responses of the account server are not
   * stored.
   * @throws AppError not_signed_in once this device has signed out
   */
  readonly requireSession: () => void
}
