import { AppError } from '../../../errors.ts'
import type { Command, Invocation } from '../../command.ts'
import type { Reset } from './sign-in-steps.ts'
import { SIGN_IN_OPTIONS, isMachine, signIn } from './login.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'

const WARNING = `
A reset makes this device the only one of the account. Every earlier device is revoked, with its sessions, and what was sealed to
those devices alone is lost. It is for people who have lost all their devices, or had them replaced by a thief; with one left,
use "countersignd login" and approve this one.
`

const WITHOUT_PAPER = `
All who follow the account or have a connection with it see that its keys changed, and must confirm it again. With the 24
words of a recovery key they need not: "countersignd reset --recovery-key".
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
      'A reset revokes every earlier device of the account: without a terminal, confirm it with --yes.',
    )
  io.stderr.write(`${WARNING}${options['recovery-key'] === true ? '' : WITHOUT_PAPER}\n`)
  const typed = await prompt.ask('Type "reset" to go on: ')
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
Type the 24 words of the recovery key, as many on a line as you like. They are not shown.

`

export const resetCommand: Command = {
  usage:
    '--email ADDRESS [--new-code] | --machine [--key-file FILE] [--recovery-key] [--yes] [--json]',
  help: `
Brings an account back after all its devices were lost. Signs this device in as "countersignd login" does, and revokes every
earlier device. All who follow the account see that its keys changed, and must confirm them again, unless the recovery key
vouches for them.

  --email, --new-code, --machine, --key-file   as for "countersignd login"
  --recovery-key                               with the 24 words of "countersignd recovery create": asked for, or read from standard
                                               input before the code
  --yes                                        do not ask for confirmation

With the words, no contact has to confirm the account again, and a reset that a thief made without them is undone.`,
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
