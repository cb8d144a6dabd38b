/**
 * The scheduled run of a daemon: a sync, and before it the sign-in of a machine account by its
 * key.
 */
import type { DeviceSession } from '../device/session/session.ts'
import type { SignInFlow } from '../device/session/sign-in.ts'
import type { Log } from '../log.ts'
import { machineKeyIn } from './credential.ts'
import type { Trigger } from './schedule.ts'

/**
 * Creates the scheduled run. It does not throw: errors are logged and are in the report of the
 * sync. If this process had a session and has none now, the user signed out, and the run does not
 * sign in again.
 * @param of `credentialsDir`: where the service manager put the key; null if no key is used
 * @returns does one run, and returns whether it succeeded
 */
export function newTurn(of: {
  credentialsDir: string | null
  seat: Pick<DeviceSession, 'identity' | 'device'>
  signIn: Pick<SignInFlow, 'machine'>
  log: Log
}): (trigger: Trigger) => Promise<boolean> {
  const { credentialsDir, seat, signIn, log } = of
  let seated = false

  async function signInByItself(): Promise<boolean> {
    try {
      const key = machineKeyIn(credentialsDir)
      if (key !== null) await signIn.machine({ key, reset: false })
      return true
    } catch (cause) {
      log('error', 'not signed in with the key of the machine account', { cause })
      return false
    }
  }

  return async (trigger) => {
    seated ||= seat.identity() !== null
    if (!seated && !(await signInByItself())) return false
    const identity = seat.identity()
    if (identity === null) return true
    seated = true
    const device = seat.device()
    if (device !== null) {
      const { sync, firstContacts } = device
      firstContacts.wake()
      // A sync in progress lacks the changes that were made since it began.
      return (await (trigger === 'request' ? sync.runAnew(trigger) : sync.run(trigger))).ok
    }
    log('warn', 'not synced: this device waits for approval', {
      account: identity.account,
      device: identity.device,
    })
    return false
  }
}
