/** Random histories of a connection among five people, with a model of the protocol document. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { KeyLog } from '../../src/crypto/logs/key-log.ts'
import { keyCommitment } from '../../src/crypto/logs/roster-form.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import {
  addMember,
  changeRole,
  confirmMember,
  heldMembers,
  leave,
  openEntry,
  recipientsOf,
  removeMember,
  rotate,
  rotationDue,
  unconfirmedMembers,
  verifyRoster,
  type RosterRole,
  type Roster,
} from '../../src/crypto/logs/roster.ts'
import {
  add,
  consentTo,
  newConnection,
  newDevice,
  newPerson,
  reset,
  revoke,
  signer,
  type Person,
  type TestDevice,
} from './builders.ts'

const PEOPLE = 5
const DEVICES = 4
export const connection = newConnection()

/** Keys are made once; each history uses as many of them as it needs. */
const spare = Array.from({ length: PEOPLE }, () => Array.from({ length: DEVICES }, newDevice))
/** Every device that a history may name. */
export const byId = new Map(spare.flat().map((device) => [device.id, device]))
const accounts = spare.map(([device]) => newPerson(device!))
const secret = (seq: number) => new Uint8Array(32).fill(seq + 1)

/**
 * The state of an account in the connection by the document, separate from the code under test.
 */
type Seat = { role: RosterRole; generation: number; bound: number; covered: number }
type Model = {
  seats: Map<number, Seat>
  /** The accounts that left since the epoch began, and the place that it covers for each. */
  leavers: [number, number][]
  epoch: number
  pending: boolean
}
export type World = {
  people: Person[]
  /** By person: the devices used up, those active, the generation, and the last revocation. */
  used: number[]
  active: TestDevice[][]
  resets: number[]
  revokedAt: number[]
  roster: Roster
  model: Model
}

/** Returns the current key logs of all people. */
export const logs = ({ people }: World): Map<string, KeyLog> =>
  new Map(people.map(({ account, log }) => [account, log]))

function begin(): World {
  const people = accounts.map(({ account, log }) => ({ account, log }))
  const active = spare.map(([device]) => [device!])
  const open = openEntry({ connection, k: secret(0), ...signer(people[0]!, active[0]![0]!) })
  const all = new Map(people.map(({ account, log }) => [account, log]))
  const seat: Seat = { role: 'owner', generation: 1, bound: 0, covered: 0 }
  return {
    people,
    active,
    used: people.map(() => 1),
    resets: people.map(() => 1),
    revokedAt: people.map(() => -1),
    roster: verifyRoster(connection, [open], all),
    model: { seats: new Map([[0, seat]]), leavers: [], epoch: 1, pending: false },
  }
}

const step = fc.record({
  op: fc.constantFrom(
    ...(['add', 'add', 'add', 'remove', 'role', 'role', 'leave', 'rotate', 'confirm'] as const),
    ...(['device', 'revoke', 'reset'] as const),
  ),
  /** A quarter of the steps attempts something that is probably not allowed. */
  wild: fc.nat(3).map((one) => one === 0),
  who: fc.nat(PEOPLE - 1),
  whom: fc.nat(PEOPLE - 1),
  role: fc.constantFrom<RosterRole>('owner', 'member'),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
type InLog = 'device' | 'revoke' | 'reset'
type InRoster = Exclude<Step['op'], InLog>

/** Steps to run. */
export const history = fc.array(step, { minLength: 4, maxLength: 24 })

/** Returns a permitted form of the step: by an actor who may do it, on a possible target. */
function meant(world: World, one: Step): Step {
  const { seats } = world.model
  const everybody = [...world.people.keys()]
  const pick = (from: readonly number[], at: number) =>
    from.length === 0 ? at : from[at % from.length]!
  const may = [...seats].filter(
    ([who, { role, generation }]) =>
      world.resets[who] === generation &&
      (role === 'owner' || one.op === 'leave' || one.op === 'rotate'),
  )
  const who = pick(
    may.map(([index]) => index),
    one.who,
  )
  const others = everybody.filter((index) => seats.has(index) !== (one.op === 'add'))
  return { ...one, who, whom: pick(others, one.whom) }
}

/** Runs a step in the key log of a person. */
function inLog(world: World, op: InLog, who: number): void {
  const person = world.people[who]!
  const active = world.active[who]!
  const newcomer = spare[who]![world.used[who]!]
  if (op === 'revoke') {
    if (active.length < 2) return
    revoke(person, active[0]!, active[1]!)
    world.active[who] = active.slice(1)
    world.revokedAt[who] = person.log.seq
  } else if (newcomer !== undefined) {
    world.used[who]!++
    if (op === 'device') add(person, newcomer, active[0]!)
    else {
      reset(person, newcomer)
      world.resets[who]!++
      world.revokedAt[who] = person.log.seq
    }
    world.active[who] = op === 'device' ? [...active, newcomer] : [newcomer]
  }
}

/** Runs a step in the roster if the document allows it; otherwise the builder must refuse it. */
function inRoster(world: World, op: InRoster, { who, whom, role }: Step): void {
  const { people, roster, model } = world
  const { seats } = model
  const person = people[who]!
  const target = people[whom]!
  const own = seats.get(who)
  const its = seats.get(whom)
  const owners = [...seats].filter(([, seat]) => seat.role === 'owner').map(([index]) => index)
  const leavesOwner = (index: number) => owners.some((owner) => owner !== index)
  const signs = own !== undefined && world.resets[who] === own.generation
  const asOwner = signs && own.role === 'owner'
  const allowed = {
    add: asOwner && its === undefined && !model.pending,
    confirm: asOwner && who !== whom && its !== undefined && world.resets[whom]! > its.generation,
    remove: asOwner && its !== undefined && who !== whom,
    role: asOwner && its !== undefined && (role === 'owner' || leavesOwner(whom)),
    leave: signs && leavesOwner(who),
    rotate: signs,
  }[op]
  const k = secret(roster.seq + 1)
  const of = { roster, keyLogs: logs(world), ...signer(person, world.active[who]![0]!) }
  const member = target.account
  const build = {
    add: () => {
      const consent = consentTo(roster, person, target, world.active[whom]![0]!)
      return addMember({ ...of, member, memberLog: target.log, role, consent })
    },
    confirm: () => confirmMember({ ...of, member, memberLog: target.log, k }),
    remove: () => removeMember({ ...of, member, k }),
    role: () => changeRole({ ...of, member, role }),
    leave: () => leave(of),
    rotate: () => rotate({ ...of, k }),
  }[op]
  if (!allowed) {
    assert.throws(build, Refusal)
    return
  }
  world.roster = verifyRoster(connection, [...roster.entries, build()], logs(world), roster)

  own!.bound = person.log.seq
  const place = target.log.seq
  if (op === 'add') {
    const generation = world.resets[whom]!
    seats.set(whom, { role, generation, bound: place, covered: place })
  }
  if (op === 'confirm') Object.assign(its!, { generation: world.resets[whom], bound: place })
  if (op === 'remove') seats.delete(whom)
  if (op === 'role') its!.role = role
  if (op === 'leave') {
    seats.delete(who)
    model.leavers.push([who, own!.covered])
    model.pending = true
  }
  if (op === 'remove' || op === 'rotate' || op === 'confirm') {
    model.epoch++
    model.pending = false
    model.leavers = []
    // The entry names the newest place of each log with a revocation that no entry covers yet.
    for (const [index, seat] of seats)
      seat.covered = world.revokedAt[index]! > seat.bound ? people[index]!.log.seq : seat.bound
    assert.equal(world.roster.kCommit, keyCommitment(connection, model.epoch, k))
    assert.deepEqual(world.roster.epochHead, world.roster.head)
  }
}

function agree(world: World): void {
  const { roster, model, people } = world
  const { seats } = model
  assert.deepEqual(
    roster.members.map(({ account, role, generation, logSeq }) => ({
      account,
      role,
      generation,
      logSeq,
    })),
    [...seats].map(([index, { role, generation, bound }]) => ({
      account: people[index]!.account,
      role,
      generation,
      logSeq: bound,
    })),
  )
  assert.deepEqual([roster.epoch, roster.rotationPending], [model.epoch, model.pending])
  const current = [...seats].filter(([i, { generation }]) => world.resets[i] === generation)
  assert.deepEqual(
    recipientsOf(roster, logs(world)).map(({ device }) => device.id),
    current.flatMap(([index]) => world.active[index]!.map(({ id }) => id)),
  )
  assert.deepEqual(
    unconfirmedMembers(roster, logs(world)),
    [...seats.keys()]
      .filter((index) => !current.some(([other]) => other === index))
      .map((index) => people[index]!.account),
  )
  const covered: [number, number][] = [...seats].map(([index, seat]) => [index, seat.covered])
  const held = [...covered, ...model.leavers]
    .filter(([index, place]) => world.revokedAt[index]! > place)
    .map(([index]) => index)
  assert.deepEqual(
    heldMembers(roster, logs(world)),
    held.map((index) => people[index]!.account),
  )
  for (const [index] of current) {
    const due = rotationDue(roster, logs(world), people[index]!.account)
    const isDue = model.pending || held.includes(index)
    assert.equal(due, isDue ? 'now' : held.length > 0 ? 'later' : null)
  }
}

/** Runs the steps in order; after each, the code and the model must agree. */
export function play(steps: readonly Step[]): World {
  const world = begin()
  for (const one of steps) {
    const { op, who, wild } = one
    if (op === 'device' || op === 'revoke' || op === 'reset') inLog(world, op, who)
    else inRoster(world, op, wild ? one : meant(world, one))
    agree(world)
  }
  return world
}
