import { AppError } from '../../../errors.ts'
import type { Command, Invocation } from '../../command.ts'
import type { Reset } from './sign-in-steps.ts'
import { SIGN_IN_OPTIONS, isMachine, signIn } from './login.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'

const WARNING = `
A reset makes this device the only one of the account. Every earlier device is revoked and its sessions end. Data that was
encrypted only to those devices is lost. Use a reset only if you have lost all your devices, or if a thief has replaced them. If you
still have a device, use "countersignd login" and approve this device from there.
`

const WITHOUT_PAPER = `
Everyone who follows the account or has a connection with it sees that its keys changed, and must confirm it again. If you have the
24 words of the recovery key, use "countersignd reset --recovery-key" instead: then no one has to confirm the account again.
`

const NOTHING = 'Nothing was reset.'

/**
 * Asks the user to confirm the reset.
 * @throws AppError if the user declines, or if there is no terminal
 */
async function confirm({ io, options }: Invocation, prompt: Prompt): Promise<void> {
  if (!prompt.isTerminal)
    throw new AppError(
      'invalid_state',
      'A reset revokes every earlier device of the account. To confirm it without a terminal, add --yes.',
    )
  io.stderr.write(`${WARNING}${options['recovery-key'] === true ? '' : WITHOUT_PAPER}\n`)
  const typed = await prompt.ask('Type "reset" to continue: ')
  if (typed !== 'reset') throw new AppError('invalid_state', NOTHING)
}

/** Asks for the words of the recovery paper, before any mail is sent. */
async function resetOf({ io, options }: Invocation, prompt: Prompt): Promise<Reset> {
  const isSure = options['yes'] === true
  if (options['recovery-key'] !== true) return { paper: null, isSure }
  if (prompt.isTerminal) io.stderr.write(PAPER)
  const { readPaper } = await import('./paper-words.ts')
  return { paper: await readPaper({ io, prompt, otherwise: NOTHING }), isSure }
}

const PAPER = `
Type the 24 words of the recovery key, any number of words per line. What you type is not shown.

`

export const resetCommand: Command = {
  usage:
    '--email ADDRESS [--new-code] | --machine [--key-file FILE] [--recovery-key] [--yes] [--json]',
  help: `
Recovers an account after all its devices were lost. It signs this device in like "countersignd login", and
revokes every earlier device. All people who follow the account see that its keys changed, and must confirm the keys
again.

With --recovery-key, no one has to confirm the keys again. Such a reset also undoes a reset that a thief made
without the recovery key.

  --email, --new-code, --machine, --key-file   as for "countersignd login"
  --recovery-key                               use the recovery key: the 24 words of "countersignd recovery create".
                                               The command asks for these words (without a terminal, it reads them
                                               from standard input before the code)
  --yes                                        do not ask for confirmation`,
  examples: {
    'reset --email ada@example.org': 'replace all devices by this one',
    'reset --recovery-key --email ada@example.org': 'do so with the 24 words on paper',
  },
  options: {
    ...SIGN_IN_OPTIONS,
    'recovery-key': { type: 'boolean' },
    yes: { type: 'boolean' },
  },
  args: [0, 0],
  run: (invocation) =>
    withPrompt(invocation.io, async (prompt) => {
      // Report wrong options before the first question.
      isMachine(invocation)
      if (invocation.options['yes'] !== true) await confirm(invocation, prompt)
      return signIn(invocation, prompt, await resetOf(invocation, prompt))
    }),
}
