/**
 * The steps of a sign-in by mail, which `login` and `reset` share.
 * The daemon stores the progress: the same command continues from there. No question is asked
 * while this process holds the state lock.
 */
import type { SignIn } from '../../../api/local/index.ts'
import { AppError, EXIT } from '../../../errors.ts'
import type { Invocation } from '../../command.ts'
import { showNotices } from '../../notices.ts'
import type { Prompt } from '../../prompt.ts'
import { shown } from '../../table.ts'
import { type Reset, resetting } from './vouched-reset.ts'

type Asking = Pick<Invocation, 'io' | 'withApi' | 'say' | 'second'>

const codeOf = (error: unknown) => (error instanceof AppError ? error.code : null)
const complain = ({ io }: Asking, error: unknown) =>
  void io.stderr.write(`${(error as Error).message}\n`)

/** The input of a sign-in by mail. */
export interface ByMail {
  readonly email: string
  /** The input for a reset; null for a sign-in. */
  readonly reset: Reset | null
  /** Whether to send a new code although an earlier one is still valid. */
  readonly newCode: boolean
}

/**
 * Returns whether the account server accepts the session of this device. Warns the user if not.
 * Only `not_signed_in` counts as a rejection.
 */
async function isTaken(asking: Asking, { state }: SignIn): Promise<boolean> {
  try {
    await asking.withApi((api) => api.context.read({}))
  } catch (error) {
    if (codeOf(error) !== 'not_signed_in') return true
    asking.io.stderr.write(
      state === 'awaiting_approval'
        ? 'The account server no longer has this device, because its approval was declined. To ask for approval again, type a new code. ' +
            'To give up, run "countersignd logout --forget".\n'
        : 'The account server no longer accepts the session of this device. Type a new code to get a new session.\n',
    )
    return false
  }
  return true
}

const isOf = (seen: SignIn, email: string) => seen.email?.toLowerCase() === email.toLowerCase()

/**
 * Sends a code. If the server sends none because the mailbox has valid ones, one of those is
 * used.
 */
async function sendCode(asking: Asking, email: string, which: 'A' | 'A new'): Promise<SignIn> {
  const { withApi, say } = asking
  try {
    const sent = await withApi((api) => api.signIn.begin({ body: { email } }))
    say(`${which} code was sent to ${shown(email)}. It is valid for 15 minutes.`)
    return sent
  } catch (error) {
    if (codeOf(error) !== 'rate_limited') throw error
    const seen = await withApi((api) => api.signIn.read({}))
    if (seen.state !== 'code_sent' || !isOf(seen, email)) throw error
    complain(asking, error)
    return seen
  }
}

const isHere = (account: string) =>
  new AppError(
    'invalid_state',
    `This device is signed in to ${account}. Run "countersignd logout" first. If the account server no longer accepts the session, add --forget.`,
  )

/** Returns the progress of the sign-in for an address, after sending a code if there was none. */
async function begun(asking: Asking, { email, reset, newCode }: ByMail): Promise<SignIn> {
  const seen = await asking.withApi((api) => api.signIn.read({}))
  // Checked before a mail is sent in vain. For an account without an address the daemon reports
  // this.
  if (reset !== null && seen.email !== null && seen.account_id !== null)
    throw isHere(seen.account_id)
  if (isOf(seen, email)) {
    if (seen.state !== 'code_sent' && (await isTaken(asking, seen))) return seen
    if (seen.state === 'code_sent' && !newCode) return seen
  }
  return sendCode(asking, email, 'A')
}

const againBy = (reset: Reset | null) =>
  reset === null ? 'login' : reset.paper === null ? 'reset' : 'reset --recovery-key'

const codeWanted = (email: string, reset: Reset | null) =>
  new AppError(
    'invalid_state',
    `A code was sent to ${shown(email)}. Run "countersignd ${againBy(reset)} --email ${shown(email)}" again and give it ${reset?.paper ? 'the words, and on the next line the code,' : 'the code'} on standard input.`,
  )

/** Enrols the device by a code. Asks again for a wrong code only at a terminal. */
async function enrolled(asking: Asking, prompt: Prompt, { email, reset }: ByMail): Promise<SignIn> {
  const { withApi } = asking
  for (;;) {
    const code = await prompt.ask('Code from the mail (press Enter to get a new one): ')
    if (code === null || (code === '' && !prompt.isTerminal)) throw codeWanted(email, reset)
    try {
      if (code !== '') {
        const how = reset === null ? {} : await resetting(asking, prompt, reset, { code })
        return await withApi((api) => api.signIn.code({ body: { code, ...how } }))
      }
      await sendCode(asking, email, 'A new')
    } catch (error) {
      if (!prompt.isTerminal || codeOf(error) !== 'not_signed_in') throw error
      complain(asking, error)
    }
  }
}

const notYet = () =>
  new AppError(
    'invalid_state',
    'Not signed in, because the input ended. Run the same command again.',
  )

/**
 * Syncs once: a daemon does so itself, and before the first sync no verification is conclusive.
 * The report of the sync holds its errors.
 */
async function syncOnce(asking: Asking): Promise<void> {
  try {
    await asking.withApi((api) => api.sync.run({}))
    await showNotices(asking)
  } catch {
    // The sign-in is complete despite the error.
  }
}

/** Completes the sign-in of an enrolled device. An approved device skips the approval. */
export async function finishSignIn(
  invocation: Asking & Pick<Invocation, 'print'>,
  prompt: Prompt,
  seen: SignIn,
): Promise<number> {
  const { print } = invocation
  if (seen.state !== 'signed_in' && seen.state !== 'awaiting_approval') throw notYet()
  const { comeIn } = await import('./own-approval.ts')
  const done = seen.state === 'signed_in' ? seen : await comeIn(invocation, prompt)
  await syncOnce(invocation)
  const as = done.email === null ? '' : ` as ${shown(done.email)}`
  print(done, `Signed in to ${seen.account_id ?? ''}${as}.`)
  return EXIT.ok
}

/** Signs a person in. Throws the errors of the daemon. */
export async function signInByMail(
  invocation: Asking & Pick<Invocation, 'print'>,
  prompt: Prompt,
  how: ByMail,
): Promise<number> {
  const seen = await begun(invocation, how)
  const come = seen.state === 'code_sent' ? await enrolled(invocation, prompt, how) : seen
  return finishSignIn(invocation, prompt, come)
}
