import { AppError } from '../../../errors.ts'
import type { Api, Command, Invocation } from '../../command.ts'
import { withPrompt } from '../../prompt.ts'
import { shown } from '../../table.ts'

interface Whose {
  readonly id: string
  readonly email: string | null
}

const nobody = () =>
  new AppError('not_signed_in', 'This device is not signed in, so there is no account to delete.')

/**
 * Returns the account of the chosen token.
 * The daemon answers this locally, even if the account server rejects the session.
 */
async function whoseOf(api: Api): Promise<Whose> {
  try {
    const { account_id, email } = await api.signIn.read({})
    if (account_id === null) throw nobody()
    return { id: account_id, email }
  } catch (error) {
    // An API token may not use that route, and the token of a machine account is for another
    // account.
    if (!(error instanceof AppError && error.code === 'forbidden')) throw error
    const { user } = await api.context.read({})
    return { id: user.id, email: user.email }
  }
}

/**
 * Asks the user to confirm.
 * @throws AppError if the user declines, or if there is no terminal
 */
const confirm = ({ io }: Invocation, { id, email }: Whose): Promise<void> =>
  withPrompt(io, async (prompt) => {
    if (!prompt.isTerminal)
      throw new AppError(
        'invalid_state',
        'Nothing was done. To delete the account without a terminal, add --yes.',
      )
    const name = shown(email ?? id)
    io.stderr.write(
      `This deletes the account ${name} and everything in it, on all its devices: its connections, guest codes, stamps, open links, logs and ` +
        'exports, and all API tokens of this device. No one can restore it, not even with a code by mail or with the help of the operator of the ' +
        'server. Other people keep their connections, without you.\n',
    )
    const typed = await prompt.ask(`Type "${name}" to delete it: `)
    // The end of the input counts as no answer.
    if (typed === null || (typed !== id && typed.toLowerCase() !== email?.toLowerCase()))
      throw new AppError('invalid_state', 'Nothing was done.')
  })

export const accountDelete: Command = {
  usage: '[--yes] [--json]',
  help: `
Permanently deletes the account and everything in it, on the account server and on this device: its keys, its
secrets and its API tokens. Other devices of the account are signed out; to delete their data, run
"countersignd logout --forget" on each of them. If you are the only owner of an organisation with other members,
another member must become an owner first. If the account server cannot be reached, nothing is deleted.

  --yes   do not ask for confirmation`,
  options: { yes: { type: 'boolean' } },
  args: [0, 0],
  async run(invocation) {
    const { options, withApi, print, say } = invocation
    const whose = await withApi(whoseOf)
    if (options['yes'] !== true) await confirm(invocation, whose)
    await withApi((api) => api.account.delete({}))
    print({ account_id: whose.id, state: 'deleted' }, [])
    say(`Deleted the account ${shown(whose.email ?? whose.id)} and all its data on this device.`)
  },
}
