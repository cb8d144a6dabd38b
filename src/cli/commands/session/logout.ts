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
