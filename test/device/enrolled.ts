/**
 * One enrolled device of a world, with the embedded account server. The test controls the clock of
 * both, and that of the machine.
 */
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { Account, UnauthenticatedClient } from '../../src/api/port.ts'
import { openConnection } from '../../src/device/connections/connections.ts'
import type { ClockSource } from '../../src/device/codes/clock.ts'
import { type LocalDevice } from '../../src/device/device.ts'
import { createGuestCode } from '../../src/device/connections/guests.ts'
import { enrol } from '../../src/device/session/enrolment.ts'
import { type DeviceSession } from '../../src/device/session/session.ts'
import type { Keychain } from '../../src/keychain/backend.ts'
import { type AccountServer } from '../../src/service/service.ts'
import type { Act } from '../../src/storage/idempotency.ts'
import { openState, type State } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { memoryKeychain } from '../keychain/memory.ts'
import { PUBLIC_URL } from '../service/subject.ts'
import { startDevice } from '../world/start.ts'
import { newWorld } from '../world/world.ts'

export const NAMES = { display_name: 'Ann', device_name: 'desk', platform: 'linux' } as const
export const BACKEND = PUBLIC_URL

export interface Ground {
  readonly state: State
  readonly keychain: Keychain
  readonly server: AccountServer
  /** The requests that the server accepts without a session. */
  readonly door: UnauthenticatedClient
  /** Returns an enrolment code for one account. */
  readonly codeFor: (account: string) => Promise<string>
  /** The time, how far the wall clock was set since the machine started, and its boot id. */
  readonly clock: { ms: number; set: number; boot: string | null }
  /** The folder of sent mails. */
  readonly mail: string
  /** The folder of the state. */
  readonly dir: string
}

/** Returns a new operation. */
export const actAt = (at: number): Act => ({ id: randomBytes(16), at })

/** Returns a device before enrolment, and a server. */
export async function newGround(t: TestContext): Promise<Ground> {
  const world = await newWorld(t)
  const { server, door, mail } = world
  const clock: Ground['clock'] = Object.assign(world.clock, { set: 0, boot: 'boot-1' })
  const dir = freshFolder(t)
  const state = openState(dir, undefined, () => clock.ms)
  t.after(() => state.close())
  const codeFor = (account: string) => server.newEnrolmentCode(account)
  return { state, keychain: memoryKeychain(), server, door, mail, codeFor, clock, dir }
}

export interface Enrolled extends LocalDevice {
  readonly deviceSession: DeviceSession
  readonly store: Keychain
  readonly clock: Ground['clock']
  readonly server: AccountServer
  readonly mail: string
  readonly dir: string
  /** The events that the device logged since it was opened, with their causes. */
  readonly logged: readonly { readonly event: string; readonly cause: unknown }[]
  /** The trigger of each sync that was requested at once. */
  readonly soon: readonly string[]
  /** The account without replaced parts. */
  readonly account: Account
  readonly connect: (name?: string) => Promise<string>
  readonly invite: (label?: string) => Promise<string>
  /**
   * Returns the same device after a restart.
   * Parts of its account and the clock of the server can be replaced.
   */
  readonly reopen: (parts?: Partial<Account>, serverClock?: ClockSource) => Enrolled
}

/** Returns the list of changes with the time of another clock of the server. */
const timedBy = (clock: ClockSource, changes: Account['changes']): Account['changes'] =>
  clock === 'own'
    ? changes
    : {
        read: async (input) => {
          const { now } = await clock.read({})
          return { ...(await changes.read(input)), now }
        },
      }

/** The number of connections that all tests of a file made. */
let made = 0

export async function enrolled(t: TestContext): Promise<Enrolled> {
  const { state, keychain, server, door, mail, codeFor, clock, dir } = await newGround(t)
  await enrol(state, keychain, door, codeFor, NAMES, clock.ms)

  function open(parts: Partial<Account> = {}, serverClock: ClockSource = 'own'): Enrolled {
    const { deviceSession, logged, soon } = startDevice({
      state,
      keychain,
      accountOf: ({ account, device, session }) => {
        const honest = server.as({ account, device, session, token: null })
        return { ...honest, changes: timedBy(serverClock, honest.changes), ...parts }
      },
      clock: serverClock,
      now: () => clock.ms,
      uptime: () => clock.ms - clock.set,
      boot: clock.boot,
      environment: 'embedded',
    })
    const device = deviceSession.device()
    if (device === null) throw new Error('not enrolled')
    const account = deviceSession.account()
    // The list is in the order of creation, even if the clock of the test stands still.
    const next = () => actAt(clock.ms + made++)
    return {
      ...device,
      deviceSession,
      store: keychain,
      clock,
      server,
      mail,
      dir,
      logged,
      soon,
      account,
      connect: async (name = 'Bank') =>
        (await openConnection(device, account, { name, invite: [] }, next())).id,
      invite: async (label = 'Bob') => {
        const guest = { label, expiresIn: 3600 }
        return (await createGuestCode(device, account, guest, clock.ms)).made.id
      },
      reopen: open,
    }
  }
  return open()
}

/** Returns a promise and its resolver. */
export function gate<T = void>() {
  return Promise.withResolvers<T>()
}
