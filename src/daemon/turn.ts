/** What a daemon does by itself every now and then: sync, after the sign-in of a machine account whose key it was given. */
import type { Seat } from '../device/seat.ts'
import type { SignInFlow } from '../device/sign-in.ts'
import type { Log } from '../log.ts'
import { machineKeyIn } from './credential.ts'
import type { Trigger } from './schedule.ts'

/**
 * Make the turn of a schedule. It does not throw: what went wrong is logged, and stands in the report of the sync.
 * @param of `credentialsDir` is where the service manager put the key, null where nobody signs in by it
 * @returns takes a turn, and tells whether it went well
 */
export function newTurn(of: {
  credentialsDir: string | null
  seat: Seat
  signIn: SignInFlow
  log: Log
}): (trigger: Trigger) => Promise<boolean> {
  const { credentialsDir, seat, signIn, log } = of

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
    if (seat.identity() === null && !(await signInByItself())) return false
    const report = await seat.device()?.sync.run(trigger)
    return report?.ok ?? true
  }
}
