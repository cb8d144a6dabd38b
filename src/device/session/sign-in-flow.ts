/** The steps of signing in and out, in the form of the local API. */
import type { SessionTokens } from '../../api/device/enrolment.ts'
import type { MachineKey, ResetPlan, SignIn } from '../../api/local/index.ts'

/**
 * Whether the user lost every earlier device, and the recovery key's signature of the reset plan.
 */
export interface Resetting {
  readonly reset: boolean
  /** `recovery_sig`, base64url. */
  readonly recovery_sig?: string | undefined
}

export interface SignInFlow {
  /** Returns the signed-in identity and its state. */
  read(): Promise<SignIn>
  /**
   * Requests a code for a mailbox. Also for this device's mailbox, if its session ended.
   *
   * After rate_limited with state `code_sent`, an earlier code is still valid.
   * @throws AppError invalid_state, and any error from the server
   */
  begin(email: string): Promise<SignIn>
  /**
   * Returns what a reset with a credential would sign, so that a recovery key can sign it.
   *
   * Changes nothing at the account server.
   * @throws AppError as `resetPlan` does, and as `code` does for the credential
   */
  planReset(of: {
    by: { readonly code: string } | { readonly key: MachineKey }
    recovery_key: string | null
  }): Promise<ResetPlan>
  /**
   * Signs in with a code, or renews the session of this device.
   * @throws AppError as `enrolWith` and `enrolAgain` do
   */
  code(of: { code: string } & Resetting): Promise<SignIn>
  /**
   * Signs in with a machine account's key. If that key signed in before, renews the session.
   * @throws AppError as `code` does
   */
  machine(of: { key: MachineKey } & Resetting): Promise<SignIn>
  /**
   * Begins an attempt to approve this device.
   * @throws AppError as `begin` of own-approval.ts does
   */
  beginApproval(): Promise<SignIn>
  /**
   * Advances that attempt. Call it every second.
   * @throws AppError as `advance` of own-approval.ts does
   */
  advanceApproval(): Promise<SignIn>
  /**
   * Confirms the words that the approving device shows.
   * @throws AppError as `confirm` of own-approval.ts does
   */
  approve(words: string): Promise<SignIn>
  /**
   * Uploads local records if possible and signs out, or cancels an incomplete sign-in.
   * @throws AppError as `leaveAccount` and `giveUp` do
   */
  end(of: { last_device: boolean; forget: boolean }): Promise<void>
  /**
   * Deletes the account and all its data.
   * @throws AppError not_signed_in, invalid_state while this device waits for approval, and as
   *   `requestAccountDeletion` of account-deletion.ts does
   */
  deleteAccount(): Promise<void>
  /**
   * Renews a machine account's lost session, without a user.
   *
   * Does not wait for the steps above, because one of them may wait for its result.
   * @throws AppError not_signed_in for a user's device or a device that is not approved, and as
   *   `enrolAgain` does
   */
  again(): Promise<SessionTokens>
}
