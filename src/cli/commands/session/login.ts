import { AppError } from '../../../errors.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'
import { finishSignIn, signInByMail, type Reset, resetting } from './sign-in-steps.ts'

const SECOND_DEVICE = `
This machine account has a device already, and each daemon wants a machine account of its own: have one made with "countersignd
machine create", run "countersignd logout" here, and sign in with that key. If the two are to share this account, approve this one
on the other ("countersignd device approve") while this waits. If the other is lost, run "countersignd reset --machine --key-file FILE --yes": it revokes
that device.
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
  const { email, machine, 'key-file': keyFile, 'new-code': newCode } = options
  if (machine === true) {
    if (email !== undefined) throw new UsageError('--machine signs in by a key: leave --email out.')
    if (newCode !== undefined)
      throw new UsageError('--machine signs in by a key: leave --new-code out.')
    return true
  }
  if (keyFile !== undefined) throw new UsageError('--key-file goes with --machine.')
  if (email === undefined)
    throw new UsageError('--email is missing: the address of the account; or give --machine.')
  return false
}

export const SIGN_IN_OPTIONS = {
  email: { type: 'string' },
  'new-code': { type: 'boolean' },
  machine: { type: 'boolean' },
  'key-file': { type: 'string' },
} as const

export const loginCommand: Command = {
  usage: '--email ADDRESS [--new-code] | --machine [--key-file FILE] [--json]',
  help: `
Signs this device in to the account server of SVC_BACKEND_URL. After an interruption it continues when it is run
again.

  --email ADDRESS   have a code sent there, and type it; without a terminal it is read from standard input
  --new-code        have a new code sent, even if an earlier one is still valid
  --machine         sign in as a machine account, by its key
  --key-file FILE   the key that "countersignd machine create" wrote, mode 0600; without it, the systemd credential
                    countersign-machine-key

If the account server rejects the session of a signed-in device, the device gets a new session by a code and keeps its keys.

The first device of an account is signed in at once. A further one waits, at most 15 minutes, until "countersignd device approve"
runs on a device that is signed in. Then it shows four words, to be typed there, and asks for the four words that one shows; until
then it may only read. These two checks keep a dishonest account server out: compare the words carefully. After an interruption it begins
again with other words; at most five attempts in 24 hours are possible.`,
  options: SIGN_IN_OPTIONS,
  args: [0, 0],
  run: (invocation) => withPrompt(invocation.io, (prompt) => signIn(invocation, prompt, null)),
}

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
      if (typed !== 'yes') throw new AppError('invalid_state', 'Still signed in.')
      await end(true)
    }
  })

export const logoutCommand: Command = {
  usage: '[--last-device] [--forget] [--json]',
  help: `
Revokes this device in the account's key log and deletes its keys, its secrets and its connections. The account
server must be reachable for that; if it is not, or if it rejects the session of this device, nothing changes. API tokens of
this machine's user stay.

  --last-device   also if it is the last device of the account; then only "countersignd reset" restores access
  --forget        also if the account server cannot be reached: this device's keys are deleted then, and if it was not revoked,
                  it must be revoked from another device. It also cancels an unfinished sign-in, with
                  the keys that were made for it`,
  options: { 'last-device': { type: 'boolean' }, forget: { type: 'boolean' } },
  args: [0, 0],
  async run(invocation) {
    await leave(invocation)
    invocation.print({ state: 'signed_out' }, [])
    invocation.say('Signed out.')
  },
}
