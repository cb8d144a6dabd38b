/**
 * The steps of a person's sign-in, which `login` and `reset` share. The daemon remembers how far it came: the same command again
 * goes on from there. No question is asked while the state folder is held.
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

/** How a person signs in. */
export interface ByMail {
  readonly email: string
  /** What the person gave for a reset; null for a sign-in. */
  readonly reset: Reset | null
  /** Whether to have a code sent although one that came before is still good. */
  readonly newCode: boolean
}

/** Whether the account server still takes the session of the device that is here; where it does not, the person is told. */
async function isTaken(asking: Asking, { state }: SignIn): Promise<boolean> {
  try {
    await asking.withApi((api) => api.context.read({}))
  } catch (error) {
    if (codeOf(error) !== 'not_signed_in') return true
    asking.io.stderr.write(
      state === 'awaiting_approval'
        ? 'The account server knows this device no more: it was turned away before it was approved. With a new code it asks again; ' +
            '"countersignd logout --forget" gives up.\n'
        : 'The account server does not take the session of this device any more. With a new code this device gets another.\n',
    )
    return false
  }
  return true
}

const isOf = (seen: SignIn, email: string) => seen.email?.toLowerCase() === email.toLowerCase()

/** Have a code sent. Where none is sent because there are good ones in that mailbox already, one of those serves. */
async function sendCode(asking: Asking, email: string, which: 'A' | 'A new'): Promise<SignIn> {
  const { withApi, say } = asking
  try {
    const sent = await withApi((api) => api.signIn.begin({ body: { email } }))
    say(`${which} code is on its way to ${shown(email)}. It is good for 15 minutes.`)
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
    `This device is signed in to ${account}. Run "countersignd logout" first; with --forget, where the account server takes its session no more.`,
  )

/** Where the person stands with this address, a code sent if there was none. */
async function begun(asking: Asking, { email, reset, newCode }: ByMail): Promise<SignIn> {
  const seen = await asking.withApi((api) => api.signIn.read({}))
  // Before a mail is sent in vain; who is here without one, the daemon says.
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
    `A code was mailed to ${shown(email)}. Run "countersignd ${againBy(reset)} --email ${shown(email)}" again and give it ${reset?.paper ? 'the words, and on the next line the code,' : 'the code'} on standard input.`,
  )

/** From a code to an enrolled device. Only at a terminal is a wrong code asked for again. */
async function enrolled(asking: Asking, prompt: Prompt, { email, reset }: ByMail): Promise<SignIn> {
  const { withApi } = asking
  for (;;) {
    const code = await prompt.ask('Code from the mail (Enter alone has a new one sent): ')
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
    'Not signed in: nobody is here any more. Run the same command again.',
  )

/** A daemon does so by itself; without one, nothing is verified for certain before it. What goes wrong stands in its report. */
async function syncOnce(asking: Asking): Promise<void> {
  try {
    await asking.withApi((api) => api.sync.run({}))
    await showNotices(asking)
  } catch {
    // Signed in all the same.
  }
}

/** The second half alone, for whoever is enrolled: nothing to do for a device that is approved. */
export async function finish(
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

/** Sign a person in. Throws what the daemon throws. */
export async function signInByMail(
  invocation: Asking & Pick<Invocation, 'print'>,
  prompt: Prompt,
  how: ByMail,
): Promise<number> {
  const seen = await begun(invocation, how)
  const come = seen.state === 'code_sent' ? await enrolled(invocation, prompt, how) : seen
  return finish(invocation, prompt, come)
}
