import { AppError } from '../errors.ts'
import type { Command, Invocation } from './command.ts'
import { SIGN_IN_OPTIONS, isMachine, signIn } from './login.ts'
import { type Prompt, withPrompt } from './prompt.ts'

const WARNING = `
A reset makes this device the only one of the account. Every earlier device is revoked, with its sessions, and what was sealed to
those devices alone is lost. Everybody who follows the account or has a connection with it sees that its keys changed, and must
confirm it anew. It is for people who have lost all their devices; with one left, use "countersignd login" and approve this one.
`

/** Have the person confirm. Throws AppError when they do not, or nobody is there to. */
async function confirm({ io }: Invocation, prompt: Prompt): Promise<void> {
  if (!prompt.isTerminal)
    throw new AppError(
      'invalid_state',
      'A reset revokes every earlier device of the account: without a terminal, confirm it with --yes.',
    )
  io.stderr.write(`${WARNING}\n`)
  const typed = await prompt.ask('Type "reset" to go on: ')
  if (typed !== 'reset') throw new AppError('invalid_state', 'Nothing was reset.')
}

export const resetCommand: Command = {
  usage: '--email ADDRESS [--new-code] | --machine [--key-file FILE] [--yes] [--json]',
  help: `
Brings an account back after all its devices were lost. Signs this device in as "countersignd login" does, and revokes every
earlier device. Everybody who follows the account sees that its keys changed.

  --email, --new-code, --machine, --key-file   as for "countersignd login"
  --yes                                        do not ask for confirmation`,
  options: { ...SIGN_IN_OPTIONS, yes: { type: 'boolean' } },
  args: [0, 0],
  run: (invocation) =>
    withPrompt(invocation.io, async (prompt) => {
      // A mistake in the options is told before anything is asked.
      isMachine(invocation)
      if (invocation.options['yes'] !== true) await confirm(invocation, prompt)
      return signIn(invocation, prompt, true)
    }),
}
