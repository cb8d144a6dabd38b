/** The commands that show who is signed in, and delete the account. */
import { every } from '../../../api/cursor.ts'
import type { SignIn } from '../../../api/local/index.ts'
import { AppError, type ErrorCode, EXIT } from '../../../errors.ts'
import type { Api, Command, Invocation } from '../../command.ts'
import { type Labelled, labelledLines } from '../../labels.ts'
import { withPrompt } from '../../prompt.ts'
import { shown } from '../../table.ts'
import { when } from '../../times.ts'

const STATES: Readonly<Record<SignIn['state'], string>> = {
  signed_out: 'signed out',
  code_sent: 'signed out; a code was sent by mail',
  awaiting_approval: 'awaits approval, and can only read until then',
  signed_in: 'signed in',
}

/** Returns the state of the sign-in; null for an API token, which may not read it. */
async function signInOf(api: Api): Promise<SignIn | null> {
  try {
    return await api.signIn.read({})
  } catch (error) {
    if (error instanceof AppError && error.code === 'forbidden') return null
    throw error
  }
}

/** Returns when the recovery key was activated; undefined if that is not known. */
async function recoveryOf(api: Api): Promise<{ since: string | null } | undefined> {
  try {
    const { since } = await api.recovery.read({})
    return { since }
  } catch (error) {
    if (error instanceof AppError && UNASKED.includes(error.code)) return undefined
    throw error
  }
}

/**
 * The errors that an API token or a device waiting for approval gets, and those of an account
 * server that is away. This device has copies of the rest then.
 */
const UNASKED: readonly ErrorCode[] = [
  'backend_timeout',
  'backend_unavailable',
  'forbidden',
  'no_device',
]

/** Reads the part of the answer that only the account server can give. */
async function atServer(api: Api) {
  const context = await api.context.read({})
  const devices = await every((query) => api.devices.list(query))
  const recovery_key = await recoveryOf(api)
  const device = devices.find(({ current }) => current) ?? null
  return { ...context, ...(recovery_key === undefined ? {} : { recovery_key }), device }
}

const recoveryText = ({ since }: { since: string | null }): string =>
  since === null
    ? 'no recovery key; to create one: countersignd recovery create'
    : `recovery key since ${when(since)}`

/** The errors if the account server is unreachable or rejects this device's session. */
const SILENT: readonly ErrorCode[] = [
  'backend_error',
  'backend_timeout',
  'backend_unavailable',
  'not_signed_in',
]

async function seen(api: Api) {
  const sign_in = await signInOf(api)
  const { backend: server, summary } = await api.status.read({})
  const here = { sign_in, server, device: null }
  if (sign_in?.state === 'signed_out' || sign_in?.state === 'code_sent')
    return { answer: here, silent: null, summary }
  try {
    return { answer: { ...here, ...(await atServer(api)) }, silent: null, summary }
  } catch (error) {
    if (sign_in === null || !(error instanceof AppError) || !SILENT.includes(error.code))
      throw error
    return { answer: here, silent: error, summary }
  }
}

function lines(of: Awaited<ReturnType<typeof seen>>['answer']): string[] {
  const { sign_in, server } = of
  const rows: Labelled[number][] = [
    ['State', sign_in && STATES[sign_in.state]],
    ['Server', server],
  ]
  if ('user' in of) {
    const { id, display_name, email, kind } = of.user
    const current = of.active_organisation?.id
    const organisations = of.organisations.map(
      (one) => `${one.name} (${one.role}${one.id === current ? ', current' : ''})`,
    )
    rows.push(
      ['Account', id],
      ['Name', `${display_name}${kind === 'machine' ? ' (a machine account)' : ''}`],
      ['Email', email],
      ['Device', of.device && `${of.device.name}  ${of.device.id}`],
      ['In', organisations.join(', ')],
      ['Recovery', of.recovery_key && recoveryText(of.recovery_key)],
    )
  } else if (sign_in !== null)
    rows.push(
      ['Account', sign_in.account_id],
      ['Email', sign_in.email],
      ['Device', sign_in.device_id],
    )
  return labelledLines([...rows, ['Words', sign_in?.device_words]])
}

export const whoamiCommand: Command = {
  usage: '[--json]',
  help: `
Shows the account, this device, the account server, and whether the device is signed in. While
"countersignd login" is waiting, this command also shows the four words to type on the other device. If the account
server cannot be reached, the data that this device has stored is shown. The exit code is 1 if this device has no
copy of the account, or if it is not signed in.`,
  args: [0, 0],
  async run({ io, withApi, print, say }) {
    const { answer, silent, summary } = await withApi(seen)
    print(answer, lines(answer))
    if ('user' in answer) return EXIT.ok
    if (silent === null) say(shown(summary))
    else io.stderr.write(`Only the data that this device has stored is shown. ${silent.message}\n`)
    return EXIT.failed
  },
}

interface AccountName {
  readonly id: string
  readonly email: string | null
}

const nobody = () =>
  new AppError('not_signed_in', 'This device is not signed in, so there is no account to delete.')

/**
 * Returns the account of the user's token.
 *
 * The daemon answers this locally, even if the account server rejects the session.
 */
async function accountNameOf(api: Api): Promise<AccountName> {
  try {
    const { account_id, email } = await api.signIn.read({})
    if (account_id === null) throw nobody()
    return { id: account_id, email }
  } catch (error) {
    // An API token may not use that route, and a machine account's token belongs to another
    // account.
    if (!(error instanceof AppError && error.code === 'forbidden')) throw error
    const { user } = await api.context.read({})
    return { id: user.id, email: user.email }
  }
}

/**
 * Asks the user to confirm the deletion.
 * @throws AppError if the user declines, or if there is no terminal
 */
const confirm = ({ io }: Invocation, { id, email }: AccountName): Promise<void> =>
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
    const account = await withApi(accountNameOf)
    if (options['yes'] !== true) await confirm(invocation, account)
    await withApi((api) => api.account.delete({}))
    print({ account_id: account.id, state: 'deleted' }, [])
    say(
      `Deleted the account ${shown(account.email ?? account.id)} and all its data on this device.`,
    )
  },
}
