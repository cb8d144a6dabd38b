import { AppError } from '../../../errors.ts'
import type { Command, Invocation } from '../../command.ts'
import { withPrompt } from '../../prompt.ts'

const isLast = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'invalid_state' &&
  error.details.state === 'last_device'

/** Signs out. Asks at a terminal before the last device is signed out. */
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
Revokes this device in the account's key log, and deletes its keys, secrets and connections. If the account
server cannot be reached, or rejects the session of this device, nothing changes. API tokens of this machine's
user are kept.

  --last-device   sign out even if this is the last device of the account. Afterwards, only "countersignd reset"
                  restores access to the account
  --forget        delete the keys of this device even if the account server cannot be reached. If the device was
                  not revoked, revoke it from another device. This option also cancels an unfinished sign-in and
                  deletes the keys that were created for it`,
  options: { 'last-device': { type: 'boolean' }, forget: { type: 'boolean' } },
  args: [0, 0],
  async run(invocation) {
    await leave(invocation)
    invocation.print({ state: 'signed_out' }, [])
    invocation.say('Signed out.')
  },
}
