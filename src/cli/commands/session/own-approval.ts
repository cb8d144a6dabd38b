/** The approval of this device by another device of the account, as `login` runs it. */
import type { SignIn } from '../../../api/local/index.ts'
import { AppError } from '../../../errors.ts'
import type { Api, Invocation } from '../../command.ts'
import type { Prompt } from '../../prompt.ts'

type Asking = Pick<Invocation, 'io' | 'withApi' | 'second'>

const WAITING = `
This device awaits approval, and can only read until then. Now run "countersignd device approve"
on a device that is signed in. Waiting for the approval, at most 15 minutes …
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
 * Returns whether the user can correct the error at once: a typing error, or an unfinished step
 * on the other device.
 */
function isAskedAgain(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false
  const { code, details } = error
  if (code === 'invalid_state') return details.state === 'awaiting_approval'
  return code === 'word_count' || code === 'unknown_word' || code === 'validation_failed'
}

/** Begins an approval, and waits until this device has words to show or is approved. */
async function begun(api: Api, { io, second }: Asking): Promise<SignIn> {
  let seen = await api.signIn.beginApproval({})
  if (seen.state === 'awaiting_approval') io.stderr.write(`${WAITING}\n`)
  while (seen.state === 'awaiting_approval' && seen.device_words === null) {
    await second()
    seen = await api.signIn.advanceApproval({})
  }
  return seen
}

/**
 * Asks for the approving device’s words and compares them; returns null if the user starts again.
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
 * Its random values are in memory only. So without a daemon this process keeps the state lock
 * from the first question to the last.
 * @throws the errors of the daemon
 */
export const comeIn = (asking: Asking, prompt: Prompt): Promise<SignIn> =>
  asking.withApi(async (api) => {
    for (;;) {
      const seen = await begun(api, asking)
      if (seen.device_words === null) return seen
      asking.io.stderr.write(`${instructions(seen.device_words)}\n`)
      const done = await compared(api, asking, prompt)
      if (done !== null) return done
    }
  })
