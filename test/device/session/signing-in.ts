/** A device before its first sign-in, over the account server of the test. */
import type { TestContext } from 'node:test'
import type { Account, UnauthenticatedClient } from '../../../src/api/port.ts'
import { type Approver, newApprover } from '../../../src/device/approval/approver.ts'
import { openCodes } from '../../../src/device/codes/codes.ts'
import type { LocalDevice } from '../../../src/device/device.ts'
import { openIdentity, type Identity } from '../../../src/device/identity/identity.ts'
import { openDeviceSession } from '../../../src/device/session/session.ts'
import type { SignInFlow } from '../../../src/device/session/sign-in-flow.ts'
import { newSignIn } from '../../../src/device/session/sign-in.ts'
import type { Unpushed } from '../../../src/device/sync/sync.ts'
import { openVault } from '../../../src/device/identity/vault.ts'
import type { Keychain } from '../../../src/keychain/backend.ts'
import { openState, type State } from '../../../src/state/state.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { memoryKeychain } from '../../keychain/memory.ts'
import type { Between, BetweenDoor } from '../../world/interceptor.ts'

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
  readonly door: BetweenDoor
  readonly account: Between
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
    door: (door) => door,
    account: (account) => account,
    server: server.origin,
    now: () => server.now(),
    handOver: async () => ({ verifications: 0, stamps: 0 }),
    ...parts,
  })
}

function laptopOver(server: Place, name: string, parts: Parts) {
  const { state, keychain, now } = parts
  const logged: unknown[] = []
  const deviceSession = openDeviceSession({
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
    const identity = deviceSession.identity() as Identity
    const vault = openVault(keychain, state.secrets)
    const codes = openCodes(state, vault, identity.account)
    return newApprover({ identity, state, codes, vault, now, requireSession: () => undefined })
  }
  const names = { display_name: 'Ada', device_name: name, platform: 'linux' } as const
  const flow: SignInFlow = newSignIn({
    state,
    keychain,
    deviceSession,
    door: parts.door(server.door),
    server: parts.server,
    now,
    log: (...line) => logged.push(line),
    names,
  })
  return {
    flow,
    state,
    keychain,
    deviceSession,
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
      return deviceSession.account()
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

/** Returns everything that a device wrote outside its secrets, as text. */
export const written = ({ state, logged }: Laptop) =>
  JSON.stringify([
    logged,
    ...['meta', 'logs', 'tokens'].map((table) => state.db.prepare(`select * from ${table}`).all()),
  ])
