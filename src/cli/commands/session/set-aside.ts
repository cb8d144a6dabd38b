/**
 * Makes way for a sign-in to an account server, in a state folder with an embedded account.
 *
 * The embedded account is set aside, not deleted. If it holds anything, the user decides.
 */
import type { Config } from '../../../config/config.ts'
import { holdingsOf } from '../../../daemon/holdings.ts'
import { AppError } from '../../../errors.ts'
import { finishSettingAside, setAside, setAsideFolder } from '../../../storage/set-aside.ts'
import type { Invocation } from '../../command.ts'
import { lookAtServer } from '../../doctor/server-answer.ts'
import { shellQuoted } from '../../doctor/finding.ts'
import { memoryOf } from '../../doctor/memory.ts'
import { holderOf } from '../../lock-owner.ts'
import type { Prompt } from '../../prompt.ts'
import { isForSystem } from '../../system-instance.ts'

/** Returns the embedded account of a state folder; null if there is none. */
function embeddedIn(stateDir: string): string | null {
  const { identity } = memoryOf(stateDir)
  return identity === null || identity.server !== null ? null : identity.account
}

const backWith = (path: string) =>
  `To use it again, unset SVC_BACKEND_URL and run: SVC_STATE_DIR=${shellQuoted(path)} countersignd serve`

/** Runs a function while this process has the lock of the state folder. */
async function locked<T>(stateDir: string, work: () => T): Promise<T> {
  const holder = await holderOf(stateDir, null)
  if ('unproven' in holder) throw holder.unproven
  if ('daemon' in holder) {
    const { pid } = holder.daemon.run
    holder.daemon.close()
    throw new AppError(
      'invalid_state',
      `The running daemon (process ${pid}) uses the account of this state folder, which is on this machine only. Nothing was changed. Stop the daemon, then run this command again.`,
      { details: { state: 'embedded' } },
    )
  }
  try {
    return work()
  } finally {
    holder.lock.release()
  }
}

/**
 * Requires that the account server answers, so that an address with a typing error changes nothing.
 * @throws AppError backend_unavailable
 */
async function requireServer(settings: Config): Promise<void> {
  const look = await lookAtServer(settings, Date.now)
  if (!look.reached) throw new AppError('backend_unavailable', look.why)
}

/**
 * Asks whether an account that holds something is set aside.
 * @throws AppError invalid_state if not
 */
async function agreed(
  { io, options }: Pick<Invocation, 'io' | 'options'>,
  prompt: Prompt,
  { server, path, held }: { server: string; path: string; held: readonly string[] },
): Promise<void> {
  if (options['set-aside'] === true) return
  const found = `This state folder holds an account that is on this machine only, with ${held.join(', ')}.`
  const refused = (what: string) =>
    new AppError('invalid_state', what, { details: { state: 'embedded' } })
  if (!prompt.isTerminal)
    throw refused(
      `${found} Nothing was changed. To set it aside in ${path} and sign in to ${server}, add --set-aside. Nothing is deleted. To keep it in use, set SVC_STATE_DIR to another folder and sign in there.`,
    )
  io.stderr.write(
    `${found}\nTo sign in to ${server} here, it is set aside in ${path}.\n` +
      `Nothing is deleted, but its words, guest pages and API tokens do not work until you use it again.\n`,
  )
  if ((await prompt.ask('Type "yes" to set it aside: ')) !== 'yes')
    throw refused(
      `Nothing was changed. To keep both accounts in use, set SVC_STATE_DIR to another folder and sign in to ${server} there.`,
    )
}

/**
 * Sets the embedded account of the state folder aside if an account server is configured.
 * @throws AppError invalid_state if the account holds something and the user refuses, or if a
 *   daemon uses it; backend_unavailable if the account server does not answer
 */
export async function setEmbeddedAside(invocation: Invocation, prompt: Prompt): Promise<void> {
  const settings = invocation.config()
  const { stateDir, backendUrl: server } = settings
  if (server === null || isForSystem(settings) || embeddedIn(stateDir) === null) return
  const held = await locked(stateDir, () => {
    finishSettingAside(stateDir)
    return holdingsOf(settings)
  })
  const account = embeddedIn(stateDir)
  if (account === null) return
  await requireServer(settings)
  if (held.length > 0)
    await agreed(invocation, prompt, { server, path: setAsideFolder(stateDir, account), held })
  const path = await locked(stateDir, () => setAside(stateDir, account))
  const what = held.length === 0 ? 'It held nothing. ' : ''
  invocation.say(
    `The account ${account}, which was on this machine only, was set aside in ${path}. ${what}${backWith(path)}`,
  )
}
