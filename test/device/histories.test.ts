/**
 * What people may do to a connection, in any order, with crashes in between and a server that keeps
 * back what is newest, on five devices of three people, two of them owners. Members who have synced
 * agree on the words, or get the reason why not; after a removal, exit or revocation the words are
 * others; no device ever goes back in a roster; and every member can leave.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { keyCommitment } from '../../src/crypto/key-commitment.ts'
import { verifyKeyLog } from '../../src/crypto/key-log.ts'
import { type Roster, unconfirmedMembers, verifyRoster } from '../../src/crypto/roster.ts'
import { openConnection } from '../../src/device/connections.ts'
import { invite } from '../../src/device/invites.ts'
import { rotateNow, setRole } from '../../src/device/members.ts'
import { noWords } from '../../src/device/no-words.ts'
import { leave } from '../../src/handlers/connections.ts'
import { openState, type State } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { T0 } from './bench.ts'
import { confirmNow, type Scene, type Step, steps, take } from './history-steps.ts'
import type { memoryServer } from './memory-server.ts'
import { people, type Seat } from './seats.ts'

/** More by hand: PROPERTY_RUNS=2000; again with the SEED=… that a failure prints. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 40)
const SEED = process.env['SEED']

/** No roster that a device remembers is shorter than, or another than, what it remembered before. */
function neverBack(seat: Seat, connection: string): void {
  const now = seat.state.logs.read('roster', connection)
  assert.deepEqual(now.slice(0, seat.seen.length), seat.seen, 'a roster went back')
  seat.seen = now
}

/** The ids of the devices that the key log of an account, as the server has it, leaves active. */
const activeIn = ({ logs }: ReturnType<typeof memoryServer>, account: string) =>
  verifyKeyLog(account, logs.get(account)!).active.map(({ id }) => id)

type Server = ReturnType<typeof memoryServer>

/** What the server has of the connection, verified; null where it was ended. */
function truth({ rosters, logs }: Server, connection: string) {
  const entries = rosters.get(connection)?.entries
  if (entries === undefined) return null
  const keyLogs = new Map([...logs].map(([id, log]) => [id, verifyKeyLog(id, log)]))
  const roster = verifyRoster(connection, entries, keyLogs)
  return { roster, unconfirmed: unconfirmedMembers(roster, keyLogs) }
}

const isIn = ({ members }: Roster, { identity }: Seat) =>
  members.some(({ account }) => account === identity.account)

/** No device that came by a reset holds the secret of now before an owner confirmed its keys. */
function neverUnconfirmed(server: Server, { seats, connection }: Scene): void {
  const now = truth(server, connection)
  if (now === null) return
  const { epoch, kCommit } = now.roster
  for (const { identity, device, revoked } of seats) {
    const k = device.vault.get(connection)
    if (k === null || revoked || !now.unconfirmed.includes(identity.account)) continue
    assert.notEqual(keyCommitment(connection, epoch, k), kCommit, 'keys that nobody confirmed')
  }
}

async function syncs(scene: Scene, live: readonly Seat[], rounds: number) {
  for (let round = 0; round < rounds; round++) {
    // Members of others rotate after at most ten minutes.
    scene.clock.ms += 11 * 60_000
    for (const seat of live) {
      await seat.device.sync.run('request')
      neverBack(seat, scene.connection)
    }
  }
}

/** The device of an owner confirms unconfirmed keys; every device confirms those that it follows. */
async function decide(server: Server, scene: Scene, live: readonly Seat[]) {
  const now = truth(server, scene.connection)
  if (now === null) return
  const { roster, unconfirmed } = now
  const owners = roster.members.filter(({ role }) => role === 'owner').map(({ account }) => account)
  const mayConfirm = owners.filter((account) => !unconfirmed.includes(account))
  const first = live.find(({ identity }) => mayConfirm.includes(identity.account))
  for (const seat of live) {
    const followed = seat.state.trust.accounts()
    for (const member of seat === first ? new Set([...unconfirmed, ...followed]) : followed)
      await confirmNow(seat.device, seat.account, member)
  }
}

async function opened(first: Seat, seats: readonly Seat[], full: boolean): Promise<string> {
  const wanted = { name: 'Bank', invite: [] }
  const made = { id: randomBytes(16), at: T0 }
  const { id } = await openConnection(first.device, first.account, wanted, made)
  if (!full) return id
  const [other, third] = [2, 4].map((at) => seats[at]!.identity.account)
  for (const user_id of [other!, third!]) await invite(first.device, first.account, id, { user_id })
  for (const seat of [...seats, ...seats]) await seat.device.sync.run('request')
  await setRole(first.device, first.account, id, { member: other!, role: 'owner' })
  for (const seat of seats) await seat.device.sync.run('request')
  return id
}

/** @param full whether all three are in before the first step, two of them as owners */
async function history(newFolder: () => State, plan: readonly Step[], full: boolean) {
  const { server, seats, clock, comeBack } = await people(
    Array.from({ length: 5 }, newFolder),
    [2, 2, 1],
  )
  const connection = await opened(seats[0]!, seats, full)
  const back = (owner: number) => comeBack(owner, newFolder())
  const loseEnvelopes = () => server.rosters.get(connection)?.envelopes.clear()
  const scene: Scene = { seats, connection, clock, loseEnvelopes, comeBack: back }
  /** Every secret that was ever the current one, as somebody held it. */
  const held = new Map<Seat, Set<string>>()
  const note = () => {
    for (const seat of seats) {
      const k = seat.device.vault.get(connection)
      const known = held.get(seat) ?? held.set(seat, new Set()).get(seat)!
      if (k !== null) known.add(Buffer.from(k).toString('hex'))
    }
  }

  note()
  for (const one of plan) {
    await take(scene, one)
    for (const seat of seats)
      seat.revoked = !activeIn(server, seat.identity.account).includes(seat.identity.device)
    for (const seat of seats) neverBack(seat, connection)
    neverUnconfirmed(server, scene)
    note()
  }
  const live = seats.filter((seat) => !seat.revoked)
  await syncs(scene, live, 3)
  neverUnconfirmed(server, scene)
  await decide(server, scene, live)
  await syncs(scene, live, 3)
  note()

  const now = truth(server, connection)
  if (now === null) return
  const { roster, unconfirmed } = now
  const isUnconfirmed = ({ identity }: Seat) => unconfirmed.includes(identity.account)
  const members = live.filter((seat) => isIn(roster, seat))
  const whole = members.filter((seat) => !isUnconfirmed(seat))
  const isOwner = ({ identity }: Seat) =>
    server.rosters.get(connection)?.roles.get(identity.account)
  if (whole.some((seat) => isOwner(seat) === 'owner')) assert.deepEqual(unconfirmed, [])
  for (const seat of members.filter(isUnconfirmed)) {
    const { details } = await noWords(seat.device, seat.account, connection)
    assert.equal(details.state, 'changed_unverified')
  }
  await haveSecret(scene, whole)
  note()
  agree(scene, whole, truth(server, connection)!.roster)
  const [current] = whole.map(({ device }) => device.vault.get(connection))
  if (current !== undefined && current !== null) {
    const text = Buffer.from(current).toString('hex')
    for (const seat of seats.filter((one) => !whole.includes(one)))
      assert(!held.get(seat)!.has(text), 'a former one knows the secret')
  }
  await allLeave(scene, members)
}

/** A device without the secret, which no device has any more, gets an error and makes another secret. */
async function haveSecret(scene: Scene, whole: readonly Seat[]) {
  const { connection } = scene
  const without = whole.filter(({ device }) => !device.vault.has(connection))
  const [lacking] = without
  if (lacking === undefined) return
  assert.equal(without.length, whole.length, 'who has the secret seals it to the others')
  const { code } = await noWords(lacking.device, lacking.account, connection)
  assert.equal(code, 'secret_unavailable')
  await rotateNow(lacking.device, lacking.account, connection)
  await syncs(scene, whole, 2)
}

function agree({ connection, clock }: Scene, whole: readonly Seat[], roster: Roster) {
  const secrets = new Set<string>()
  for (const { state, device } of whole) {
    const row = state.connections.get(connection)
    assert.equal(row?.hold, null, 'everybody has synced, so nothing is pending')
    assert.equal(row?.epoch, roster.epoch)
    assert.deepEqual(
      row?.members.map(({ user_id }) => user_id),
      roster.members.map(({ account }) => account),
    )
    const k = device.vault.get(connection)
    assert(k !== null, 'a live member knows the words')
    secrets.add(Buffer.from(k).toString('hex'))
    assert.notEqual(device.codes.toSay(connection, clock.ms), null)
    assert.deepEqual(state.logs.read('roster', connection), roster.entries)
  }
  assert(secrets.size <= 1, 'live members agree')
}

/** Every member can leave the connection, in any state of it. */
async function allLeave({ connection }: Scene, members: readonly Seat[]) {
  for (const { state, account, device } of members) {
    await device.sync.run('request')
    if (state.connections.get(connection) === null) continue
    await leave(connection, account, device, 'end')
    assert.equal(state.connections.get(connection), null)
  }
}

it(
  `any history of five devices, ${RUNS} of them`,
  { timeout: RUNS * 3_000 + 60_000 },
  async (t: TestContext) => {
    const seed = SEED === undefined ? {} : { seed: Number(SEED) }
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (plan, full) => {
        const folders: State[] = []
        try {
          const newFolder = () => {
            folders.push(openState(freshFolder(t)))
            return folders.at(-1)!
          }
          await history(newFolder, plan, full)
        } finally {
          for (const state of folders) state.close()
        }
      }),
      { numRuns: RUNS, ...seed },
    )
  },
)
