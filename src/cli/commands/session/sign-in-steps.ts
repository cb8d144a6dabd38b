/**
 * The steps of a sign-in by mail, which `login` and `reset` share.
 *
 * They include the approval of this device by another one. The daemon stores the progress, and the
 * same command continues there. No question is asked while this process has the state lock, except
 * during the approval.
 */
import type { MachineKey, SignIn } from '../../../api/local/index.ts'
import type { KeyPair } from '../../../crypto/device-keys.ts'
import { AppError, EXIT } from '../../../errors.ts'
import type { Api, Invocation } from '../../command.ts'
import { showNotices } from '../status.ts'
import type { Prompt } from '../../prompt.ts'
import { shown } from '../../table.ts'

/** The input for a reset. */
export interface Reset {
  /** The recovery key; null for a reset without one. */
  readonly paper: KeyPair | null
  /** Whether all questions are skipped (`--yes`). */
  readonly isSure: boolean
}

const UNUSED = `
This account has a recovery key. If you reset with its 24 words ("countersignd reset --recovery-key"), no contact has to confirm you again.
If you reset without them, all your contacts are warned and must compare the safety number with you.
`

/**
 * Warns that the recovery key is not used, and asks the user to confirm.
 * @throws AppError `invalid_state` unless the user continues without the paper
 */
async function warnUnused({ io }: Pick<Invocation, 'io'>, prompt: Prompt, isSure: boolean) {
  io.stderr.write(`${UNUSED}\n`)
  if (isSure) return
  const typed = await prompt.ask('Type "without" to continue without the recovery key: ')
  if (typed === 'without') return
  throw new AppError(
    'invalid_state',
    'Nothing was reset. Run the same command with --recovery-key. The code is valid for 15 minutes.',
  )
}

/**
 * Returns the part of a reset request that follows the credential.
 *
 * If the user has the paper, this includes the recovery key's signature. The daemon checks the key
 * before the request is sent.
 * @throws AppError `invalid_state` for another paper, and the daemon's errors about the credential
 */
export async function resetting(
  asking: Pick<Invocation, 'io' | 'withApi'>,
  prompt: Prompt,
  { paper, isSure }: Reset,
  by: { code: string } | { key: MachineKey },
): Promise<{ reset: true; recovery_sig?: string }> {
  const body = { by, recovery_key: paper?.jwk.x ?? null }
  const plan = await asking.withApi((api) => api.signIn.planReset({ body }))
  const { has_recovery_key: hasKey, unsigned } = plan
  // The reset was already done, and its answer was lost.
  if (unsigned === null) return { reset: true }
  if (paper !== null) {
    const { vouchFor } = await import('../../../crypto/logs/key-log-entries.ts')
    return { reset: true, recovery_sig: vouchFor({ op: 'reset', ...unsigned }, paper) }
  }
  if (hasKey) await warnUnused(asking, prompt, isSure)
  return { reset: true }
}

/** The pause between two polls while the user acts on another device, in milliseconds. */
export const APPROVAL_POLL_MS = 1000

const WAITING = `
This device awaits approval, and can only read until then. Now run "countersignd device approve"
on a device that is signed in, or open "Needs you" in its console. Waiting for the approval, at most 15 minutes …
`

const instructions = (words: string) => `
  1. Type these four words on the other device:

       ${words}

  2. The other device then shows four different words. Type those words here.
`

const unanswered = () =>
  new AppError(
    'invalid_state',
    'Not approved, because the four words of the other device were not typed here. Run the same command again.',
  )

/**
 * Returns whether the user can correct an error immediately.
 *
 * This is so for a typing error, and for an unfinished step on the other device.
 */
function isAskedAgain(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false
  const { code, details } = error
  if (code === 'invalid_state') return details.state === 'awaiting_approval'
  return code === 'word_count' || code === 'unknown_word' || code === 'validation_failed'
}

/** Begins an approval, and waits until this device has words to show or is approved. */
async function beginApproval(api: Api, { io, pause }: Asking): Promise<SignIn> {
  let seen = await api.signIn.beginApproval({})
  if (seen.state === 'awaiting_approval') io.stderr.write(`${WAITING}\n`)
  while (seen.state === 'awaiting_approval' && seen.device_words === null) {
    await pause(APPROVAL_POLL_MS)
    seen = await api.signIn.advanceApproval({})
  }
  return seen
}

/**
 * Asks for the approving device's words and compares them.
 *
 * Returns null if the user wants to begin again.
 */
async function compared(api: Api, { io }: Asking, prompt: Prompt): Promise<SignIn | null> {
  for (;;) {
    const words = await prompt.ask('Four words of the other device (press Enter to start again): ')
    if (words === null || (words === '' && !prompt.isTerminal)) throw unanswered()
    if (words === '') return null
    try {
      return await api.signIn.approve({ body: { words } })
    } catch (error) {
      if (!prompt.isTerminal || !isAskedAgain(error)) throw error
      io.stderr.write(`${error.message}\n`)
    }
  }
}

/**
 * Runs the approval of this device.
 *
 * The random values of the approval are only in memory. Without a daemon, this process therefore
 * keeps the state lock from the first question to the last.
 * @throws the errors of the daemon
 */
const comeIn = (asking: Asking, prompt: Prompt): Promise<SignIn> =>
  asking.withApi(async (api) => {
    for (;;) {
      const seen = await beginApproval(api, asking)
      if (seen.device_words === null) return seen
      asking.io.stderr.write(`${instructions(seen.device_words)}\n`)
      const done = await compared(api, asking, prompt)
      if (done !== null) return done
    }
  })

type Asking = Pick<Invocation, 'io' | 'withApi' | 'say' | 'pause'>

const codeOf = (error: unknown) => (error instanceof AppError ? error.code : null)
const complain = ({ io }: Asking, error: unknown) =>
  void io.stderr.write(`${(error as Error).message}\n`)

/** The input of a sign-in by mail. */
interface ByMail {
  readonly email: string
  /** The input for a reset; null for a sign-in. */
  readonly reset: Reset | null
  /** Whether to send a new code even if an earlier one is still valid. */
  readonly newCode: boolean
}

/**
 * Returns whether the account server accepts this device's session. If not, warns the user.
 *
 * Only the error `not_signed_in` counts as a rejection.
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
 * Sends a code.
 *
 * If the server sends none because the mailbox already has valid codes, the user types one of these
 * codes.
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

/** Returns the progress of the sign-in for an address. If no code was sent, sends one. */
async function begun(asking: Asking, { email, reset, newCode }: ByMail): Promise<SignIn> {
  const seen = await asking.withApi((api) => api.signIn.read({}))
  // Checked first, so that no useless mail is sent. If the account has no address, the daemon
  // reports this error later.
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

/** Enrols the device with a code. At a terminal, asks again after a wrong code. */
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
 * Syncs once, because no verification is conclusive before the first sync. A daemon syncs by
 * itself.
 *
 * Errors are in the report of the sync.
 */
async function syncOnce(asking: Asking): Promise<void> {
  try {
    await asking.withApi((api) => api.sync.run({}))
    await showNotices(asking)
  } catch {
    // The sign-in is complete despite the error.
  }
}

/**
 * Completes the sign-in of an enrolled device. If the device is approved, no approval is needed.
 */
export async function finishSignIn(
  invocation: Asking & Pick<Invocation, 'print'>,
  prompt: Prompt,
  seen: SignIn,
): Promise<number> {
  const { print } = invocation
  if (seen.state !== 'signed_in' && seen.state !== 'awaiting_approval') throw notYet()
  const done = seen.state === 'signed_in' ? seen : await comeIn(invocation, prompt)
  await syncOnce(invocation)
  const as = done.email === null ? '' : ` as ${shown(done.email)}`
  print(done, `Signed in to ${seen.account_id ?? ''}${as}.`)
  return EXIT.ok
}

/**
 * Signs a person in.
 * @throws the errors of the daemon
 */
export async function signInByMail(
  invocation: Asking & Pick<Invocation, 'print'>,
  prompt: Prompt,
  how: ByMail,
): Promise<number> {
  const seen = await begun(invocation, how)
  const come = seen.state === 'code_sent' ? await enrolled(invocation, prompt, how) : seen
  return finishSignIn(invocation, prompt, come)
}
