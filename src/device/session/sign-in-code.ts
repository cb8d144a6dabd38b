/**
 * The code that a person waits for: what is kept of it is to which mailbox it was sent, by which account server and when. The code
 * itself is used and forgotten.
 */
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'

const CODE_SENT = 'sign_in_code'
/** What account servers give a code. Counted by the clock here alone, since that one and theirs may be far apart. */
const LIFETIME_MS = 15 * 60_000

interface CodeSent {
  readonly server: string
  readonly email: string
  /** Unix milliseconds by the clock here. */
  readonly sent_at: number
}

type Meta = Pick<State, 'meta'>

/** Remember that a code is on its way. */
export function keepCode({ meta }: Meta, server: string, email: string, now: number): void {
  const kept: CodeSent = { server, email, sent_at: now }
  meta.set(CODE_SENT, kept)
}

/**
 * The mailbox to which this account server sent a code that is still good; null when there is none.
 * @param now Unix milliseconds
 */
export function mailboxOf({ meta }: Meta, server: string | null, now: number): string | null {
  const kept = meta.get(CODE_SENT) as CodeSent | null
  if (kept === null || kept.server !== server) return null
  // A clock that was set back makes no code live for longer.
  return Math.abs(now - kept.sent_at) < LIFETIME_MS ? kept.email : null
}

/** Nobody waits for a code any more. */
export const dropCode = ({ meta }: Meta): void => meta.delete(CODE_SENT)

/** What a person shows; whose it is, the account server knows. */
export const codeCredential = (code: string): Credential => ({
  holder: null,
  machine: null,
  name: null,
  present: async () => ({ code }),
  // Without the cause: what a far server says of a code may quote it.
  refused: () =>
    new AppError(
      'not_signed_in',
      'This code is wrong, used or expired. Check it, or have a new one sent.',
    ),
  keep: () => undefined,
})

/** What opens an account. */
export interface Credential {
  /** The machine that signs in; null for a code, for which the account server names the mailbox. */
  readonly holder: string | null
  readonly machine: string | null
  /** The name in the key file of a machine account; null for a person, and where it has none. */
  readonly name: string | null
  /** As a request shows it: once each time, for an assertion serves one request. */
  present(): Promise<{ code: string } | { assertion: string }>
  /** What to say when the server does not take it. */
  refused(cause: AppError): AppError
  /** Keep it, where it serves sign-ins without anybody. */
  keep(): void
}
