/**
 * An enrolled device over an account server in this process; the test controls the clock of both.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Account, UnauthenticatedClient } from '../../src/api/port.ts'
import { openConnection } from '../../src/device/connections/connections.ts'
import type { ClockSource } from '../../src/device/codes/clock.ts'
import { openDevice, type LocalDevice } from '../../src/device/device.ts'
import { createGuestCode } from '../../src/device/connections/guests.ts'
import { enrol } from '../../src/device/session/enrolment.ts'
import { openSeat, type DeviceSession } from '../../src/device/session/session.ts'
import type { Keychain } from '../../src/keychain/backend.ts'
import { openService, type AccountServer } from '../../src/service/service.ts'
import type { Act } from '../../src/storage/idempotency.ts'
import { openState, type State } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { memoryKeychain } from '../keychain/memory.ts'
import { T0 } from './bench.ts'

export const NAMES = { display_name: 'Ann', device_name: 'desk', platform: 'linux' } as const
export const BACKEND = 'https://countersign.test'

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
  /** The folder of the state. */
  readonly dir: string
}

/** Returns a new operation. */
export const actAt = (at: number): Act => ({ id: randomBytes(16), at })

/** Returns a device before enrolment, and a server. */
export async function newGround(t: TestContext): Promise<Ground> {
  const dir = freshFolder(t)
  const clock: Ground['clock'] = { ms: T0, set: 0, boot: 'boot-1' }
  const state = openState(dir)
  const server = await openService({
    url: null,
    file: join(dir, 'account.db'),
    publicUrl: () => BACKEND,
    version: '0',
    now: () => clock.ms,
    mail: { dir: join(dir, 'mail') },
    from: 'accounts@countersign.test',
    log: () => undefined,
  })
  t.after(async () => {
    await server.close()
    state.close()
  })
  const codeFor = (account: string) => server.newEnrolmentCode(account)
  const door = server.door({ key: null })
  return { state, keychain: memoryKeychain(), server, door, codeFor, clock, dir }
}

export interface Enrolled extends LocalDevice {
  readonly seat: DeviceSession
  readonly store: Keychain
  readonly clock: Ground['clock']
  readonly server: AccountServer
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

/** The number of connections that all tests of a file made. */
let made = 0

export async function enrolled(t: TestContext): Promise<Enrolled> {
  const { state, keychain, server, door, codeFor, clock, dir } = await newGround(t)
  await enrol(state, keychain, door, codeFor, NAMES, clock.ms)

  const ran = () => clock.ms - clock.set
  function open(parts: Partial<Account> = {}, serverClock: ClockSource = 'own'): Enrolled {
    const logged: { event: string; cause: unknown }[] = []
    const soon: string[] = []
    const seat = openSeat({
      state,
      keychain,
      accountOf: ({ account, device, session }) => ({
        ...server.as({ account, device, session, token: null }),
        ...parts,
      }),
      deviceOf: (identity, account) =>
        openDevice({
          syncSoon: (trigger) => void soon.push(trigger),
          state,
          keychain,
          identity,
          account,
          clock: serverClock,
          now: () => clock.ms,
          uptime: { exact: ran, recent: ran },
          boot: clock.boot,
          log: (_, event, fields = {}) => {
            const { cause } = typeof fields === 'function' ? fields() : fields
            logged.push({ event, cause })
          },
          run: { startedAt: T0, environment: 'embedded', backend: () => BACKEND, keychain: 'file' },
        }),
      taken: () => undefined,
    })
    const device = seat.device()
    if (device === null) throw new Error('not enrolled')
    const account = seat.account()
    // The list is in the order of creation, even if the clock of the test stands still.
    const next = () => actAt(clock.ms + made++)
    return {
      ...device,
      seat,
      store: keychain,
      clock,
      server,
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
