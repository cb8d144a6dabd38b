/** The steps of signing in and out, as the local interface offers them. */
import type { Session } from '../../api/device/enrolment.ts'
import type { MachineKey, ResetPlan, SignIn } from '../../api/local/index.ts'

/** Whether every earlier device is lost, and what the recovery key signed of a plan. */
export interface Resetting {
  readonly reset: boolean
  /** `recovery_sig`, base64url. */
  readonly recovery_sig?: string | undefined
}

export interface SignInFlow {
  /** Who is signed in here. */
  read(): Promise<SignIn>
  /**
   * Requests a code for a mailbox, also for that of a device here with an ended session. Throws AppError invalid_state,
   * and what the door throws; after rate_limited as `code_sent`, a code that came before is waited for.
   */
  begin(email: string): Promise<SignIn>
  /**
   * What a reset by a credential would sign, for a recovery key to vouch for. Posts nothing.
   * Throws AppError as `resetPlan` does, and as `code` for the credential.
   */
  planReset(of: {
    by: { readonly code: string } | { readonly key: MachineKey }
    recovery_key: string | null
  }): Promise<ResetPlan>
  /** Sign in with a code, or renew the session of the device that is here. Throws AppError as `enrolWith` and `enrolAgain` do. */
  code(of: { code: string } & Resetting): Promise<SignIn>
  /** Sign in with a machine account's key; again with the same key, it renews the session. Throws as `code` does. */
  machine(of: { key: MachineKey } & Resetting): Promise<SignIn>
  /** Begins an attempt of this device to be approved. Throws AppError as `begin` of own-approval.ts. */
  beginApproval(): Promise<SignIn>
  /** Takes that attempt further, asked each second. Throws AppError as `advance` of own-approval.ts. */
  advanceApproval(): Promise<SignIn>
  /** The words that the approving device shows. Throws AppError as `confirm` of own-approval.ts. */
  approve(words: string): Promise<SignIn>
  /**
   * Sign out, once what was made here was handed over, as far as that goes; or give up a sign-in that was not finished. Throws
   * AppError as `leaveAccount` and `giveUp` do.
   */
  end(of: { last_device: boolean; forget: boolean }): Promise<void>
  /**
   * Delete the account and forget everything of it. Throws AppError not_signed_in, invalid_state while this device
   * waits for approval, and as `deleteAccount` of account-deletion.ts. */
  deleteAccount(): Promise<void>
  /**
   * A new session for a machine account that lost its own, unattended. Not in turn with the steps above: one of them may wait
   * for the answer that needs it. Throws AppError not_signed_in for a person's device and one that is not approved, and as
   * `enrolAgain` does.
   */
  again(): Promise<Session>
}
