/** A device before its first sign-in, over the account server of the test. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Account, UnauthenticatedClient } from '../../../src/api/port.ts'
import { type Approver, newApprover } from '../../../src/device/approval/approver.ts'
import { openCodes } from '../../../src/device/codes/codes.ts'
import type { LocalDevice } from '../../../src/device/device.ts'
import { openIdentity, type Identity } from '../../../src/device/identity/identity.ts'
import { openSeat } from '../../../src/device/session/session.ts'
import type { SignInFlow } from '../../../src/device/session/sign-in-flow.ts'
import { newSignIn } from '../../../src/device/session/sign-in.ts'
import type { Unpushed } from '../../../src/device/sync/sync.ts'
import { openVault } from '../../../src/device/identity/vault.ts'
import { AppError } from '../../../src/errors.ts'
import type { Keychain } from '../../../src/keychain/backend.ts'
import { openState, type State } from '../../../src/state/state.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { memoryKeychain } from '../../keychain/memory.ts'

export const EMAIL = 'ada@example.org'

/** An account server, in this process or elsewhere. */
export interface Place {
  readonly origin: string
  now(): number
  readonly door: UnauthenticatedClient
  accountOf(identity: Identity, keychain: Keychain, again: () => Promise<unknown>): Account
  /** Returns the newest code that was mailed. */
  code(email: string): string | Promise<string>
}

interface Parts {
  readonly state: State
  readonly keychain: Keychain
  readonly door: UnauthenticatedClient
  readonly account: (account: Account) => Account
  readonly server: string | null
  /** The local clock, if it is not the server’s: Unix milliseconds. */
  readonly now: () => number
  /** Runs when the device sends what it made. */
  readonly handOver: () => Promise<Unpushed>
}

export type Laptop = ReturnType<typeof newLaptop>

/** Returns a device; `parts` replaces its dependencies. */
export function newLaptop(
  t: TestContext,
  server: Place,
  name = 'laptop',
  parts: Partial<Parts> = {},
) {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  return laptopOver(server, name, {
    state,
    keychain: memoryKeychain(),
    door: server.door,
    account: (account) => account,
    server: server.origin,
    now: () => server.now(),
    handOver: async () => ({ verifications: 0, stamps: 0 }),
    ...parts,
  })
}

function laptopOver(server: Place, name: string, parts: Parts) {
  const { state, keychain, door, now } = parts
  const logged: unknown[] = []
  const seat = openSeat({
    state,
    keychain,
    accountOf: (identity) =>
      parts.account(server.accountOf(identity, keychain, () => flow.again())),
    deviceOf: () =>
      ({
        leave: async () => undefined,
        sync: { handOver: parts.handOver },
      }) as unknown as LocalDevice,
    taken: () => undefined,
  })
  let approver: Approver | null = null
  function approverHere(): Approver {
    const identity = seat.identity() as Identity
    const codes = openCodes(state, openVault(keychain, state.secrets), identity.account)
    return newApprover({ identity, state, codes, now, requireSession: () => undefined })
  }
  const names = { display_name: 'Ada', device_name: name, platform: 'linux' } as const
  const flow: SignInFlow = newSignIn({
    state,
    keychain,
    seat,
    door,
    server: parts.server,
    now,
    log: (...line) => logged.push(line),
    names,
  })
  return {
    flow,
    state,
    keychain,
    seat,
    logged,
    identity: () => openIdentity(state, keychain) as Identity,
    /** Signs in with a code from the mailbox. */
    async signIn({ email = EMAIL, reset = false } = {}) {
      await flow.begin(email)
      return flow.code({ code: await server.code(email), reset })
    },
    /** The approvals of further devices by this one, in the memory of this start. */
    get approver() {
      return (approver ??= approverHere())
    },
    get account() {
      return seat.account()
    },
    /** Returns the same device after a restart, with some parts replaced. */
    restart: (more: Partial<Parts> = {}) => laptopOver(server, name, { ...parts, ...more }),
  }
}

/** Wraps a function or the functions of an object, at any depth: each runs and then may throw. */
export function crashing<T extends object>(of: T, step: () => void): T {
  const wrapped = Object.entries(of).map(([key, value]): [string, unknown] => {
    if (typeof value === 'function')
      return [
        key,
        (...args: unknown[]) => {
          const result = (value as (...args: unknown[]) => unknown)(...args)
          if (result instanceof Promise) return result.then((it: unknown) => (step(), it))
          step()
          return result
        },
      ]
    return typeof value === 'object' && value !== null ? [key, crashing(value, step)] : [key, value]
  })
  return Object.fromEntries(wrapped) as T
}

/** Returns a door that loses the answers of one row a number of times, after the server acted. */
export function losing(
  door: UnauthenticatedClient,
  group: 'signIns' | 'enrolment',
  row: string,
  times: number,
  code: AppError['code'],
): UnauthenticatedClient {
  let left = times
  const rows = door[group] as Readonly<Record<string, unknown>>
  const call = rows[row] as (input: unknown) => Promise<unknown>
  const lossy = async (input: unknown) => {
    const answer = await call(input)
    if (left === 0) return answer
    left -= 1
    throw new AppError(code, 'The answer is lost.')
  }
  return { ...door, [group]: { ...rows, [row]: lossy } }
}

/** Throws once, at call number `at` (from 1) of all calls counted after `arm`. */
export function crashAt(at: number) {
  let calls: number | null = null
  return {
    arm: () => {
      calls = 0
    },
    step: () => {
      if (calls === null) return
      calls += 1
      if (calls === at) throw new Error('crash')
    },
    /** Returns whether there were that many calls. */
    crashed: () => (calls ?? 0) >= at,
  }
}

/** Checks an error: an AppError with this code, message, and state among its details. */
export const refusedWith =
  (code: AppError['code'], says = /./, state?: string) =>
  (error: unknown) => {
    assert(error instanceof AppError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, says)
    if (state !== undefined) assert.equal(error.details.state, state)
    return true
  }

export const away = async () => {
  throw new AppError('backend_unavailable', 'The server is away.')
}

/** Returns everything that a device wrote outside its secrets, as text. */
export const written = ({ state, logged }: Laptop) =>
  JSON.stringify([
    logged,
    ...['meta', 'logs', 'tokens'].map((table) => state.db.prepare(`select * from ${table}`).all()),
  ])
