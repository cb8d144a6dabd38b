/**
 * The sign-in code that a user waits for.
 *
 * Stored are the mailbox to which the code was sent, the account server and the time. The code
 * itself is used and not stored.
 */
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'

const CODE_SENT = 'sign_in_code'
/**
 * The lifetime of a code at an account server, in milliseconds.
 *
 * It is measured by this device's clock only, because the server's clock may differ widely.
 */
const LIFETIME_MS = 15 * 60_000

interface CodeSent {
  readonly server: string
  readonly email: string
  /** Unix milliseconds by this device's clock. */
  readonly sent_at: number
}

type Meta = Pick<State, 'meta'>

/** Stores that a code was sent. */
export function keepSignInCode({ meta }: Meta, server: string, email: string, now: number): void {
  const kept: CodeSent = { server, email, sent_at: now }
  meta.set(CODE_SENT, kept)
}

/**
 * Returns the mailbox to which this account server sent a code that is still valid, or null.
 * @param now Unix milliseconds
 */
export function mailboxOfCode({ meta }: Meta, server: string | null, now: number): string | null {
  const kept = meta.get(CODE_SENT) as CodeSent | null
  if (kept === null || kept.server !== server) return null
  // Setting the clock back must not extend the lifetime of a code.
  return Math.abs(now - kept.sent_at) < LIFETIME_MS ? kept.email : null
}

/** Deletes the record of a code that was sent. */
export const dropCode = ({ meta }: Meta): void => meta.delete(CODE_SENT)

/** Returns the credential of a code. Only the account server has the mailbox of the code. */
export const codeCredential = (code: string): SignInCredential => ({
  holder: null,
  machine: null,
  name: null,
  present: async () => ({ code }),
  // The cause is omitted, because the error of a remote server may quote the code.
  refused: () =>
    new AppError(
      'not_signed_in',
      'This code is wrong, used or expired. Check it, or request a new one: countersignd login --new-code.',
    ),
  keep: () => undefined,
})

/** A credential that gives access to an account. */
export interface SignInCredential {
  /** The machine that signs in; null for a code, for which the account server names the mailbox. */
  readonly holder: string | null
  readonly machine: string | null
  /** The name in a machine account's key file; null for a user, or if the file has none. */
  readonly name: string | null
  /** Returns the credential for one request. An assertion can be used only once. */
  present(): Promise<{ code: string } | { assertion: string }>
  /** Returns the error for a credential that the server rejects. */
  refused(cause: AppError): AppError
  /** Stores the credential, if it is used for unattended sign-ins. */
  keep(): void
}
