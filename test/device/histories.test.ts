/**
 * What people may do to a connection, in any order, with crashes in between, on five devices of three people. Members who have synced
 * agree on the words; whoever was removed, left or was revoked knows them no more; no device ever goes back in a roster.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import fc from 'fast-check'
import type { Account } from '../../src/api/port.ts'
import { openConnection } from '../../src/device/connections.ts'
import type { Device } from '../../src/device/device.ts'
import { invite } from '../../src/device/invites.ts'
import { leaveOrEnd, remove, rotateNow } from '../../src/device/members.ts'
import { revoke } from '../../src/device/revocation.ts'
import { AppError } from '../../src/errors.ts'
import { openState, type State } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { T0 } from './bench.ts'
import type { memoryServer } from './memory-server.ts'
import { deviceOf, people, type Seat } from './seats.ts'

/** More by hand: PROPERTY_RUNS=2000. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 100)

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

const device = fc.nat(4)
/** Mostly those who may. */
const owner = fc.oneof({ weight: 3, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: device })
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sync' as const), by: device }) },
  fc.record({ do: fc.constant('add' as const), by: owner, whom: fc.nat(2) }),
  fc.record({ do: fc.constant('remove' as const), by: owner, whom: fc.nat(2) }),
  fc.record({ do: fc.constant('leave' as const), by: device }),
  fc.record({ do: fc.constant('rotate' as const), by: device }),
  fc.record({ do: fc.constant('revoke' as const), by: device, whom: device }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
/** Some steps end in a crash, at a call and before or after it reached the server. */
const steps = fc.array(
  fc.record({
    step,
    crash: fc.option(fc.record({ at: fc.integer({ min: 1, max: 8 }), after: fc.boolean() }), {
      freq: 3,
    }),
  }),
  { minLength: 4, maxLength: 14 },
)

async function act(
  seats: readonly Seat[],
  connection: string,
  by: Seat,
  what: Step,
  on: Device,
  account: Account,
) {
  const accountOf = (owner: number) => seats.find((one) => one.owner === owner)!.identity.account
  switch (what.do) {
    case 'sync':
      await on.sync.run('request')
      return
    case 'add':
      await invite(on, account, connection, { user_id: accountOf(what.whom) })
      await on.sync.run('request')
      return
    case 'remove':
      return remove(on, account, connection, accountOf(what.whom))
    case 'leave':
      await leaveOrEnd(on, account, connection)
      return
    case 'rotate':
      await rotateNow(on, account, connection)
      return
    case 'revoke': {
      const target = seats[what.whom]!
      if (target.owner !== by.owner) return
      await revoke(on, account, target.identity.device)
      target.revoked = true
    }
  }
}

/** What the person is told, and what a crash looks like, is no failure of the test. */
const isTold = (error: unknown) => error instanceof AppError || error instanceof Crash

/** No roster that a device remembers is shorter than, or another than, what it remembered before. */
function neverBack(seat: Seat, connection: string): void {
  const now = seat.state.logs.read('roster', connection)
  assert.deepEqual(now.slice(0, seat.seen.length), seat.seen, 'a roster went back')
  seat.seen = now
}

async function history(
  folders: readonly State[],
  plan: readonly { step: Step; crash: { at: number; after: boolean } | null }[],
  /** Whether all three are in before the first step. */
  full: boolean,
) {
  const { server, seats } = await people(folders, [2, 2, 1])
  const [first] = seats as [Seat]
  const wanted = { name: 'Bank', invite: [] }
  const made = await openConnection(first.device, first.account, wanted, {
    id: randomBytes(16),
    at: T0,
  })
  const connection = made.id
  /** Every secret that was ever the current one, as somebody held it. */
  const held = new Map<Seat, Set<string>>(seats.map((seat) => [seat, new Set()]))
  const note = () => {
    for (const seat of seats) {
      const k = seat.device.vault.get(connection)
      if (k !== null) held.get(seat)!.add(Buffer.from(k).toString('hex'))
    }
  }

  if (full) {
    for (const user_id of [2, 4].map((at) => seats[at]!.identity.account))
      await invite(first.device, first.account, connection, { user_id })
    for (const seat of [...seats, ...seats]) await seat.device.sync.run('request')
    note()
  }
  for (const { step: what, crash } of plan) {
    const by = seats[what.by]!
    if (by.revoked) continue
    if (what.do === 'remove' && what.whom === by.owner) continue
    const account = crash === null ? by.account : dyingAt(by.account, crash.at, crash.after)
    const on = crash === null ? by.device : deviceOf(by, account)
    await act(seats, connection, by, what, on, account).catch((error: unknown) => {
      if (!isTold(error)) throw error
    })
    // What it knows in memory is gone; what it wrote stays.
    if (crash !== null) by.device = deviceOf(by, by.account)
    for (const seat of seats) if (!ownsDevice(server, seat)) seat.revoked = true
    for (const seat of seats) neverBack(seat, connection)
    note()
  }

  const live = seats.filter((seat) => !seat.revoked)
  for (let round = 0; round < 4; round++)
    for (const seat of live) {
      await seat.device.sync.run('request')
      neverBack(seat, connection)
    }
  note()

  const roster = server.rosters.get(connection)
  if (roster === undefined) return
  const isMember = ({ identity, revoked }: Seat) => !revoked && roster.roles.has(identity.account)
  const secrets = new Set<string>()
  for (const seat of seats.filter(isMember)) {
    const row = seat.state.connections.get(connection)
    assert.equal(row?.hold, null, 'everybody has synced, so nothing is pending')
    const k = seat.device.vault.get(connection)
    assert(k !== null, 'a live member knows the words')
    secrets.add(Buffer.from(k).toString('hex'))
    assert.notEqual(seat.device.codes.toSay(connection, T0), null)
    assert.deepEqual(seat.state.logs.read('roster', connection), roster.entries)
  }
  assert(secrets.size <= 1, 'live members agree')
  const [current] = [...secrets]
  for (const seat of seats.filter((one) => !isMember(one)))
    assert(current === undefined || !held.get(seat)!.has(current), 'a former one knows the secret')
}

const ownsDevice = ({ logs }: ReturnType<typeof memoryServer>, { identity }: Seat) =>
  !(logs.get(identity.account) ?? []).some((entry) => {
    const { op, device: named } = JSON.parse(
      Buffer.from(entry.split('.')[1] as string, 'base64url').toString(),
    ) as { op: string; device: string }
    return op === 'revoke' && named === identity.device
  })

it(
  `any history of five devices, ${RUNS} of them`,
  { timeout: RUNS * 2_000 + 60_000 },
  async (t: TestContext) => {
    const newFolders = () => [0, 1, 2, 3, 4].map(() => openState(freshFolder(t)))
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (plan, full) => {
        const folders = newFolders()
        try {
          await history(folders, plan, full)
        } finally {
          for (const state of folders) state.close()
        }
      }),
      { numRuns: RUNS },
    )
  },
)
