/**
 * What people and a slow account server may do to a connection, one step at a time. Any step may end
 * in a crash; what the device wrote stays.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Account } from '../../src/api/port.ts'
import { revokeDevice } from '../../src/crypto/key-log-entries.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { confirmSeats } from '../../src/device/confirmed-members.ts'
import type { Device } from '../../src/device/device.ts'
import { invite } from '../../src/device/invites.ts'
import { pullKeyLog } from '../../src/device/key-log.ts'
import { judgeHolds } from '../../src/device/kept-connection.ts'
import { leaveOrEnd, remove, rotateNow, setRole } from '../../src/device/members.ts'
import { revoke } from '../../src/device/revocation.ts'
import { renewNow } from '../../src/device/seal-renewal.ts'
import { AppError } from '../../src/errors.ts'
import { restless } from './people.ts'
import { deviceOf, type Seat } from './seats.ts'
import { paged } from './paged.ts'

/** A call that never came back: before it reached the server, or after. */
class Crash extends Error {}

type Groups = Record<string, Record<string, (input: unknown) => Promise<unknown>>>

/** The account, at whose n-th call the device dies. */
function dyingAt(account: Account, n: number, after: boolean): Account {
  let calls = 0
  let dead = false
  const dying = (call: (input: unknown) => Promise<unknown>) => async (input: unknown) => {
    if (dead) throw new Crash()
    calls += 1
    dead = calls === n
    if (dead && !after) throw new Crash()
    const answer = await call(input)
    if (dead) throw new Crash()
    return answer
  }
  const groups = Object.entries(account as unknown as Groups).map(([group, rows]) => [
    group,
    Object.fromEntries(Object.entries(rows).map(([name, call]) => [name, dying(call)])),
  ])
  return Object.fromEntries(groups) as Account
}

const without = (entries: readonly string[]) =>
  entries.length > 1 ? entries.slice(0, -1) : [...entries]

/** The account as a server shows it that keeps the newest of everything back. */
const behind = (account: Account): Account => ({
  ...restless(account),
  keyLogs: {
    ...account.keyLogs,
    read: async (of) => {
      const { entries, seal_keys } = await account.keyLogs.read({ account: of.account })
      return { ...paged(without(entries), of), seal_keys }
    },
  },
  rosters: {
    ...account.rosters,
    read: async (of) => {
      const { entries, key_logs } = await account.rosters.read({ connection: of.connection })
      return { ...paged(without(entries), of), key_logs }
    },
  },
  envelopes: { ...account.envelopes, read: async () => ({ envelopes: [] }) },
})

/** Mostly one of the first five; those that came by a reset follow. */
const device = fc.oneof({ weight: 3, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(6) })
const person = fc.nat(2)
/** Mostly those who may. */
const owner = fc.oneof({ weight: 4, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: device })
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('sync' as const), by: device }) },
  fc.record({ do: fc.constant('withheld' as const), by: device }),
  fc.record({ do: fc.constant('later' as const), by: device }),
  fc.record({ do: fc.constant('lose' as const), by: device }),
  fc.record({ do: fc.constant('add' as const), by: owner, whom: person }),
  fc.record({ do: fc.constant('remove' as const), by: owner, whom: person }),
  fc.record({ do: fc.constant('promote' as const), by: owner, whom: person }),
  fc.record({ do: fc.constant('demote' as const), by: owner, whom: person }),
  fc.record({ do: fc.constant('leave' as const), by: device }),
  fc.record({ do: fc.constant('rotate' as const), by: device }),
  fc.record({ do: fc.constant('renew' as const), by: device }),
  fc.record({ do: fc.constant('revoke' as const), by: device, whom: device }),
  fc.record({ do: fc.constant('signOut' as const), by: device }),
  fc.record({ do: fc.constant('reset' as const), by: device }),
  fc.record({ do: fc.constant('confirm' as const), by: owner, whom: person }),
)
type What = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A step, and perhaps a crash in it: at a call, and before or after that reached the server. */
export interface Step {
  readonly what: What
  readonly crash: { readonly at: number; readonly after: boolean } | null
}

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    what: step,
    crash: fc.option(fc.record({ at: fc.integer({ min: 1, max: 8 }), after: fc.boolean() }), {
      freq: 3,
    }),
  }),
  { minLength: 4, maxLength: 14 },
)

/** Where the steps happen. */
export interface Scene {
  readonly seats: readonly Seat[]
  readonly connection: string
  readonly clock: { ms: number }
  /** The server loses the envelopes of the connection. */
  readonly loseEnvelopes: () => void
  /** The person of a seat comes back with a new device, all others being lost. */
  readonly comeBack: (owner: number) => Promise<void>
}

const RESETS = 2

/** Names of what was refused; a report that names none is a failure. */
const NAMED = /refused \([a-z_0-9]+\)|cannot be right \([a-z_0-9]+\)|is followed on this device/

/** Whoever holds the device signs it out. */
async function signOut({ identity, account }: Seat): Promise<void> {
  const { sign } = await identity.keys()
  const log = await identity.keyLog()
  if (log.active.every(({ id }) => id !== identity.device)) return
  const by = { by: identity.device, kid: identity.kid, seed: sign.secret, at: 1 }
  const entry = revokeDevice({ log, device: identity.device, ...by })
  await account.keyLogs.append({ body: { entry } })
}

/** The person has compared the newest keys of somebody, and confirms them. */
export async function confirmNow(on: Device, account: Account, member: string): Promise<void> {
  const { generation, seq } = await pullKeyLog(on, account, member)
  on.state.trust.put({
    account: member,
    pinned: generation,
    confirmed: true,
    seq,
    newest: generation,
    shown: generation,
    refused: null,
    checked_at: 0,
    recovered_at: null,
    key_unused: false,
  })
  await confirmSeats(on, account, member)
  judgeHolds(on, member)
}

async function act(scene: Scene, by: Seat, what: What, on: Device, account: Account) {
  const { seats, connection } = scene
  const accountOf = (of: number) => seats.find((one) => one.owner === of)!.identity.account
  switch (what.do) {
    case 'sync':
      await on.sync.run('request')
      return
    case 'withheld': {
      const { error } = await deviceOf(by, behind(by.account)).sync.run('request')
      if (error !== null) assert.match(error, NAMED)
      return
    }
    case 'later':
      scene.clock.ms += 11 * 60_000
      return
    case 'lose':
      await rotateNow(on, account, connection)
      scene.loseEnvelopes()
      return
    case 'add':
      await invite(on, account, connection, { user_id: accountOf(what.whom) })
      await on.sync.run('request')
      return
    case 'remove':
      return remove(on, account, connection, accountOf(what.whom))
    case 'promote':
    case 'demote': {
      const role = what.do === 'promote' ? 'owner' : 'member'
      await setRole(on, account, connection, { member: accountOf(what.whom), role })
      return
    }
    case 'leave':
      await leaveOrEnd(on, account, connection)
      return
    case 'rotate':
      await rotateNow(on, account, connection)
      return
    case 'renew':
      await renewNow(on, account)
      return
    case 'revoke': {
      const target = seats[what.whom]
      if (target?.owner === by.owner) await revoke(on, account, target.identity.device)
      return
    }
    case 'signOut':
      return signOut(by)
    case 'reset':
      if (seats.length < 5 + RESETS) await scene.comeBack(by.owner)
      return
    case 'confirm':
      return confirmNow(on, account, accountOf(what.whom))
  }
}

/** What a person is answered, and what a crash looks like, is no failure of the test. */
const isTold = (error: unknown) =>
  error instanceof AppError || error instanceof Crash || error instanceof Refusal

/** Take one step; the devices that a crash or another key ended start anew. */
export async function take(scene: Scene, { what, crash }: Step): Promise<void> {
  const by = scene.seats[what.by]
  if (by === undefined || (by.revoked && what.do !== 'reset')) return
  if (what.do === 'remove' && what.whom === by.owner) return
  const account = crash === null ? by.account : dyingAt(by.account, crash.at, crash.after)
  const on = crash === null ? by.device : deviceOf(by, account)
  await act(scene, by, what, on, account).catch((error: unknown) => {
    if (!isTold(error)) throw error
  })
  // What it knows in memory is gone; what it wrote stays.
  if (crash !== null) by.device = deviceOf(by, by.account)
}
