import { AppError, EXIT } from '../../../errors.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'
import { chooseName } from './own-name.ts'
import { finishSignIn, signInByMail, type Reset, resetting } from './sign-in-steps.ts'

const SECOND_DEVICE = `
This machine account already has a device. Each daemon should have a machine account of its own: create another one with
"countersignd machine create", run "countersignd logout" here, and sign in with the new key. If both devices are meant to use this
account, run "countersignd device approve" on the other device now, while this command waits. If the other device is lost, run
"countersignd reset --machine --key-file FILE --yes", which revokes it.
`

/**
 * Signs in as the options describe.
 * @param reset the input for a reset; null for an ordinary sign-in
 */
export async function signIn(
  invocation: Invocation,
  prompt: Prompt,
  reset: Reset | null,
): Promise<number> {
  const { config, io, options, withApi } = invocation
  if (!isMachine(invocation)) {
    const newCode = options['new-code'] === true
    return signInByMail(invocation, prompt, { email: String(options['email']), reset, newCode })
  }
  const { machineKeyFrom } = await import('./machine-key-file.ts')
  const key = machineKeyFrom(options['key-file'], config().credentialsDir)
  const how = reset === null ? {} : await resetting(invocation, prompt, reset, { key })
  const seen = await withApi((api) => api.signIn.machine({ body: { key, ...how } }))
  if (seen.state === 'awaiting_approval') io.stderr.write(SECOND_DEVICE)
  return finishSignIn(invocation, prompt, seen)
}

/**
 * Returns whether `--machine` was given, and checks that the other options fit.
 * @throws UsageError
 */
export function isMachine({ options }: Invocation): boolean {
  const { email, machine, name, 'key-file': keyFile, 'new-code': newCode } = options
  if (machine === true) {
    if (email !== undefined) throw new UsageError('--machine signs in with a key. Omit --email.')
    if (newCode !== undefined)
      throw new UsageError('--machine signs in with a key. Omit --new-code.')
    if (name !== undefined)
      throw new UsageError('--machine signs in with a key, which has a name. Omit --name.')
    return true
  }
  if (keyFile !== undefined) throw new UsageError('--key-file can only be used with --machine.')
  if (email === undefined)
    throw new UsageError('Missing: --email or --machine. Example: --email ada@example.org')
  return false
}

export const SIGN_IN_OPTIONS = {
  email: { type: 'string' },
  'new-code': { type: 'boolean' },
  machine: { type: 'boolean' },
  'key-file': { type: 'string' },
} as const

export const loginCommand: Command = {
  usage:
    '--email ADDRESS [--new-code] [--name NAME] | --machine [--key-file FILE] [--set-aside] [--json]',
  help: `
Signs this device in to the account server at SVC_BACKEND_URL. From then on, the state folder belongs to that server,
and the variable is not needed again. If the command is interrupted, run it again to continue.

  --email ADDRESS   send a code to this address, then ask for the code (without a terminal: on standard input)
  --new-code        send a new code even if an earlier one is still valid
  --name NAME       your name, as other people see it, if the account has none yet (at a terminal, the command asks for
                    it). Without a name, other people see your address
  --machine         sign in as a machine account, with its key
  --key-file FILE   the key file that "countersignd machine create" wrote, of mode 0600
                    (default: the systemd credential countersign-machine-key)
  --set-aside       set aside the account that is on this machine only, without a question

If the state folder holds an embedded account, this command sets it aside: it moves the account's files to the folder
set-aside inside the state folder, and deletes nothing. If the account holds anything, the command asks first. It
prints how to use the account again.

If the account server rejects the session of a signed-in device, run this command again. The device gets a new
session and keeps its keys.

The first device of an account is signed in immediately. Every other device must be approved:

  1. Within 15 minutes, run "countersignd device approve" on a device that is already signed in.
  2. This command shows four words. Type them on the device that is already signed in.
  3. The device that is already signed in shows four different words. Type them here.

Until the last step is done, the new device can only read. The words detect a dishonest account server, so type them
exactly as the other screen shows them. If the approval is interrupted, it starts again with new words. At most five
attempts in 24 hours are possible.`,
  examples: {
    'login --email ada@example.org': 'sign in with a mailed code',
    'login --machine --key-file machine.json': 'sign in as a machine account',
  },
  options: { ...SIGN_IN_OPTIONS, name: { type: 'string' }, 'set-aside': { type: 'boolean' } },
  args: [0, 0],
  run: (invocation) =>
    withPrompt(invocation.io, async (prompt) => {
      // Report wrong options before the first question.
      isMachine(invocation)
      const { setEmbeddedAside } = await import('./set-aside.ts')
      await setEmbeddedAside(invocation, prompt)
      const code = await signIn(invocation, prompt, null)
      const { name, machine } = invocation.options
      if (code === EXIT.ok && machine !== true)
        await chooseName(invocation, prompt, name === undefined ? undefined : String(name))
      if (code === EXIT.ok && (await isWithoutDaemon(invocation)))
        invocation.say('Next, in another terminal or as a service: countersignd serve')
      return code
    }),
}

const isWithoutDaemon = ({ withApi }: Invocation): Promise<boolean> =>
  withApi(async (_, hasDaemon) => !hasDaemon)

const isLast = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'invalid_state' &&
  error.details.state === 'last_device'

/** Signs out. At a terminal, asks before it signs out the last device. */
const leave = ({ io, options, withApi }: Invocation): Promise<void> =>
  withPrompt(io, async (prompt) => {
    const forget = options['forget'] === true
    const end = (last_device: boolean) =>
      withApi((api) => api.signIn.end({ body: { last_device, forget } }))
    try {
      await end(options['last-device'] === true)
    } catch (error) {
      if (!isLast(error) || !prompt.isTerminal) throw error
      io.stderr.write(`${(error as Error).message}\n`)
      const typed = await prompt.ask('Type "yes" to sign out the last device: ')
      if (typed !== 'yes')
        throw new AppError('invalid_state', 'Nothing was changed: this device is still signed in.')
      await end(true)
    }
  })

export const logoutCommand: Command = {
  usage: '[--last-device] [--forget] [--json]',
  help: `
Revokes this device in the account's key log, and deletes its keys, secrets and connections. If the account server
cannot be reached, or rejects the session of this device, nothing changes. The API tokens of this machine are kept.

  --last-device   sign out even if this is the last device of the account. Afterwards, only "countersignd reset"
                  restores access to the account
  --forget        delete the keys of this device even if the account server cannot be reached. If this device
                  could not be revoked, revoke it on another device. This option also cancels an unfinished sign-in
                  and deletes the keys that were created for that sign-in`,
  options: { 'last-device': { type: 'boolean' }, forget: { type: 'boolean' } },
  args: [0, 0],
  async run(invocation) {
    await leave(invocation)
    invocation.print({ state: 'signed_out' }, [])
    invocation.say('Signed out.')
  },
}
