/** An enrolled device over an account server in this process; the clock of both is in the hands of the test. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { openConnection } from '../../src/device/connections.ts'
import { openDevice, type Device } from '../../src/device/device.ts'
import { createGuestCode } from '../../src/device/guests.ts'
import { enrol } from '../../src/device/enrolment.ts'
import { openIdentity } from '../../src/device/identity.ts'
import type { Keychain } from '../../src/keychain/keychain.ts'
import { openService, type AccountServer } from '../../src/service/service.ts'
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
  /** An enrolment code for one account. */
  readonly codeFor: (account: string) => Promise<string>
  readonly clock: { ms: number }
}

/** A device before enrolment, and a server. */
export async function newGround(t: TestContext): Promise<Ground> {
  const dir = freshFolder(t)
  const clock = { ms: T0 }
  const state = openState(dir)
  const server = await openService({
    url: null,
    file: join(dir, 'account.db'),
    publicUrl: () => BACKEND,
    version: '0',
    now: () => clock.ms,
  })
  t.after(async () => {
    await server.close()
    state.close()
  })
  const codeFor = (account: string) => server.newEnrolmentCode(account)
  return { state, keychain: memoryKeychain(), server, codeFor, clock }
}

export interface Enrolled extends Device {
  readonly store: Keychain
  readonly clock: Ground['clock']
  /** What the device logged since it was opened: the event, and what caused it. */
  readonly logged: readonly { readonly event: string; readonly cause: unknown }[]
  /** The account itself, as nobody has replaced it. */
  readonly account: Account
  readonly connect: (name?: string) => Promise<string>
  readonly invite: (label?: string) => Promise<string>
  /** The same device after another start, its account replaced in parts. */
  readonly reopen: (parts?: Partial<Account>) => Enrolled
}

export async function enrolled(t: TestContext): Promise<Enrolled> {
  const { state, keychain, server, codeFor, clock } = await newGround(t)
  await enrol(state, keychain, server.door, codeFor, NAMES, clock.ms)

  function open(parts: Partial<Account> = {}): Enrolled {
    const identity = openIdentity(state, keychain)
    if (identity === null) throw new Error('not enrolled')
    const { account: id, device: deviceId, session } = identity
    const logged: { event: string; cause: unknown }[] = []
    const account = { ...server.as({ account: id, device: deviceId, session }), ...parts }
    const device = openDevice({
      state,
      keychain,
      identity,
      account: () => account,
      now: () => clock.ms,
      freshness: { offsetMs: () => 0, lastSyncAt: () => clock.ms },
      log: (_, event, fields = {}) => {
        const { cause } = typeof fields === 'function' ? fields() : fields
        logged.push({ event, cause })
      },
      run: { startedAt: T0, environment: 'embedded', backend: () => BACKEND, keychain: 'file' },
    })
    return {
      ...device,
      store: keychain,
      clock,
      logged,
      account,
      connect: async (name = 'Bank') => (await openConnection(device, account, name, clock.ms)).id,
      invite: async (label = 'Bob') => {
        const guest = { label, expiresIn: 3600 }
        return (await createGuestCode(device, account, guest, clock.ms)).made.id
      },
      reopen: open,
    }
  }
  return open()
}

/** A promise and how to end it. */
export function gate<T = void>() {
  return Promise.withResolvers<T>()
}
