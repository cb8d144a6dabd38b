/** Starts a device over its state, its keychain and an account. */
import type { Account } from '../../src/api/port.ts'
import type { ClockSource } from '../../src/device/codes/clock.ts'
import { openDevice } from '../../src/device/device.ts'
import type { Identity } from '../../src/device/identity/identity.ts'
import { openDeviceSession } from '../../src/device/session/session.ts'
import type { Keychain } from '../../src/keychain/backend.ts'
import type { State } from '../../src/state/state.ts'
import { PUBLIC_URL } from '../service/subject.ts'
import { T0 } from '../device/bench.ts'

type Environment = Parameters<typeof openDevice>[0]['run']['environment']

/**
 * Returns the session of a started device, what it logged since, and the trigger of each sync that
 * it requested at once.
 * @param of `clock`: of the account server; `now`: Unix milliseconds; `uptime`: of the machine, by
 *   default the time; `boot`: the id of its start
 */
export function startDevice(of: {
  state: State
  keychain: Keychain
  accountOf: (identity: Identity) => Account
  clock: ClockSource
  now: () => number
  uptime?: () => number
  boot?: string | null
  environment: Environment
}) {
  const { state, keychain, accountOf, clock, now, uptime = now, boot = null, environment } = of
  const logged: { event: string; cause: unknown }[] = []
  const soon: string[] = []
  const log: Parameters<typeof openDevice>[0]['log'] = (_, event, fields = {}) => {
    const { cause } = typeof fields === 'function' ? fields() : fields
    logged.push({ event, cause })
  }
  const deviceSession = openDeviceSession({
    state,
    keychain,
    accountOf,
    deviceOf: (identity, account) =>
      openDevice({
        state,
        keychain,
        identity,
        account,
        clock,
        now,
        uptime: { exact: uptime, recent: uptime },
        boot,
        syncSoon: (trigger) => void soon.push(trigger),
        log,
        run: { startedAt: T0, environment, backend: () => PUBLIC_URL, keychain: 'file' },
      }),
    taken: () => undefined,
  })
  return { deviceSession, logged, soon, log }
}
