/** What a daemon does by itself every now and then: sync, after the sign-in of a machine account whose key it was given. */
import type { Seat } from '../device/session/session.ts'
import type { SignInFlow } from '../device/session/sign-in.ts'
import type { Log } from '../log.ts'
import { machineKeyIn } from './credential.ts'
import type { Trigger } from './schedule.ts'

/**
 * Make the turn of a schedule. It does not throw: what went wrong is logged, and stands in the report of the sync. Once somebody was
 * signed in during this run, an empty seat means that somebody signed out, and stays empty.
 * @param of `credentialsDir` is where the service manager put the key, null where nobody signs in by it
 * @returns takes a turn, and tells whether it went well
 */
export function newTurn(of: {
  credentialsDir: string | null
  seat: Pick<Seat, 'identity' | 'device'>
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
      // What was done meanwhile is not in a run under way.
      return (await (trigger === 'request' ? sync.runAnew(trigger) : sync.run(trigger))).ok
    }
    log('warn', 'not synced: this device waits for approval', {
      account: identity.account,
      device: identity.device,
    })
    return false
  }
}
