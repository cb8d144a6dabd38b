/**
 * Random valid rosters of several accounts, made by separate bookkeeping.
 * A membership moves to a later generation only by `confirm`, or if the key in force made the
 * next one.
 */
import { base64url, type Bytes, order } from './bytes.ts'
import type { Known } from './chain.ts'
import { kCommitOf } from './envelope.ts'
import { idText } from './ids.ts'
import { type KeyLogHistory, keyLogHistory } from './key-log-histories.ts'
import type { Random } from './random.ts'
import type { Role } from './roster-entry.ts'
import { hashText, type KeyPair, type Payload, signed, type TestDevice } from './signing.ts'

/** The input of every verifier of a roster. */
export interface RosterInput {
  readonly connection: string
  readonly entries: readonly string[]
  readonly known: Known | null
  /** Account → the newest key log known. */
  readonly logs: ReadonlyMap<string, readonly string[]>
}

interface Seat {
  readonly role: Role
  readonly generation: number
}

export interface RosterHistory extends RosterInput {
  readonly accounts: ReadonlyMap<string, KeyLogHistory>
  /** The signing key pair of each entry. */
  readonly signers: readonly KeyPair[]
  /** Memberships after each place. */
  readonly seats: readonly ReadonlyMap<string, Seat>[]
  readonly epoch: number
  readonly pending: boolean
}

/** A place of an account's key log, and a device that is active there. */
interface Standing {
  readonly history: KeyLogHistory
  readonly seq: number
  readonly device: TestDevice
}

const ZEROS = base64url(new Uint8Array(32))
export const placeOf = (history: KeyLogHistory, seq: number) => ({
  seq,
  head: hashText(history.entries[seq]!),
})

/**
 * Returns whether a membership of generation `p` accepts an entry of `g` without a confirmation.
 */
function moves(of: KeyLogHistory, g: number, p: number): boolean {
  if (g === p) return true
  const key = of.inForce[of.generations.lastIndexOf(p)]
  return g === p + 1 && key !== null && of.madeBy[g - 1] === key
}

/** Returns a valid roster of at most `length` entries, over four accounts. */
export function rosterHistory(of: Random, length: number): RosterHistory {
  const histories = Array.from({ length: 4 }, () => keyLogHistory(of, 1 + of.below(8)))
  const accounts = new Map(histories.map((history) => [history.account, history]))
  const rawConnection = of.bytes(16)
  const connection = idText('con', rawConnection)
  const entries: string[] = []
  const signers: KeyPair[] = []
  const kept: ReadonlyMap<string, Seat>[] = []
  const seats = new Map<string, Seat>()
  const reached = new Map<string, number>()
  const exits = new Map<string, number>()
  let epoch = 0
  let pending = false
  let ended = false

  /** Returns the places at which an account can sign, from its last one on. */
  const standings = (account: string): Standing[] => {
    const history = accounts.get(account)!
    const seat = seats.get(account)
    return history.active.flatMap((active, seq) =>
      seq >= (reached.get(account) ?? 0) &&
      (seat === undefined || moves(history, history.generations[seq]!, seat.generation))
        ? active.map((device) => ({ history, seq, device }))
        : [],
    )
  }
  const prev = (): string => (entries.length === 0 ? ZEROS : hashText(entries.at(-1)!))
  const push = (actor: Standing, op: string, members: Payload, opens: boolean): void => {
    const { history, seq, device } = actor
    if (opens) epoch++
    const commit = opens
      ? { k_commit: base64url(kCommitOf(rawConnection, epoch, of.bytes(32))) }
      : {}
    const payload = {
      v: 2,
      connection,
      seq: entries.length,
      epoch,
      prev: prev(),
      op,
      ...members,
      ...commit,
      actor: history.account,
      device: device.id,
      actor_log: placeOf(history, seq),
      at: of.below(2 ** 31),
    }
    entries.push(signed('roster+jws', payload, device.sign))
    signers.push(device.sign)
    kept.push(new Map(seats))
  }
  const sit = (account: string, role: Role, seq: number): void => {
    seats.set(account, { role, generation: accounts.get(account)!.generations[seq]! })
    reached.set(account, Math.max(seq, reached.get(account) ?? 0))
  }
  const ownersBut = (account: string): boolean =>
    [...seats].some(([other, { role }]) => other !== account && role === 'owner')
  /** Returns rows of some members; a third of them match no log. */
  const rows = (actor: string): Payload => {
    const others = [...seats.keys()].filter((account) => account !== actor && of.below(2) === 0)
    if (others.length === 0) return {}
    const logs = others.map((account) => {
      const history = accounts.get(account)!
      const at = placeOf(history, of.below(history.entries.length))
      return { account, ...at, ...(of.below(3) === 0 ? { head: base64url(of.bytes(32)) } : {}) }
    })
    const raw = (account: string): Bytes => accounts.get(account)!.raw
    return { logs: logs.toSorted((a, b) => order(raw(a.account), raw(b.account))) }
  }

  const opener = of.pick(histories.flatMap(({ account }) => standings(account)))
  sit(opener.history.account, 'owner', opener.seq)
  push(opener, 'open', of.below(4) === 0 ? { replaces: idText('con', of.bytes(16)) } : {}, true)
  for (let tries = 0; tries < length * 4 && entries.length < length && !ended; tries++) {
    const possible = [...seats.keys()].flatMap(standings)
    if (possible.length === 0) break
    const actor = of.pick(possible)
    const own = actor.history.account
    const { role } = seats.get(own)!
    const signs = (): void => sit(own, role, actor.seq)
    const op = of.pick(['add', 'add', 'add', 'remove', 'role', 'leave', 'rotate', 'confirm', 'end'])
    if (op === 'rotate') {
      signs()
      pending = false
      push(actor, op, rows(own), true)
    } else if (op === 'leave') {
      if (!ownersBut(own)) continue
      signs()
      seats.delete(own)
      exits.set(own, entries.length)
      pending = true
      push(actor, op, {}, false)
    } else if (role !== 'owner') continue
    else if (op === 'add') add(actor, signs)
    else if (op === 'remove') {
      const member = of.pick([...seats.keys()])
      if (!ownersBut(member)) continue
      signs()
      const logs = rows(own)
      seats.delete(member)
      exits.set(member, entries.length)
      pending = member === own
      push(actor, op, { member, ...logs }, true)
    } else if (op === 'role') {
      const member = of.pick([...seats.keys()])
      const named = of.pick<Role>(['owner', 'member'])
      if (named === 'member' && !ownersBut(member)) continue
      signs()
      seats.set(member, { ...seats.get(member)!, role: named })
      push(actor, op, { member, role: named }, false)
    } else if (op === 'confirm') {
      const member = of.pick([...seats.keys()])
      const history = accounts.get(member)!
      const { generation, role: kind } = seats.get(member)!
      const later = history.generations.flatMap((one, seq) => (one > generation ? [seq] : []))
      if (member === own || later.length === 0) continue
      signs()
      const seq = of.pick(later)
      const logs = rows(own)
      sit(member, kind, seq)
      pending = false
      push(actor, op, { member, member_log: placeOf(history, seq), ...logs }, true)
    } else if (of.below(4) === 0) {
      signs()
      ended = true
      push(actor, op, {}, false)
    }
  }
  const logs = new Map(histories.map((history) => [history.account, history.entries]))
  return { connection, entries, known: null, logs, accounts, signers, seats: kept, epoch, pending }

  function add(actor: Standing, signs: () => void): void {
    const outside = histories.filter(({ account }) => !seats.has(account))
    const possible = outside.flatMap(({ account }) => standings(account))
    if (pending || possible.length === 0) return
    const { history, seq, device } = of.pick(possible)
    const { account } = history
    const earlier = history.active.flatMap((active, at) =>
      at <= seq && active.includes(device) ? [at] : [],
    )
    signs()
    const from = exits.get(account) ?? 0
    const known = of.pick(entries.slice(from))
    const consent = {
      v: 2,
      connection,
      inviter: actor.history.account,
      account,
      device: device.id,
      key_log: placeOf(history, of.pick(earlier)),
      roster_head: hashText(known),
      at: of.below(2 ** 31),
    }
    const role = of.pick<Role>(['owner', 'member'])
    sit(account, role, seq)
    const members = {
      member: account,
      member_log: placeOf(history, seq),
      role,
      consent: signed('consent+jws', consent, device.sign),
    }
    push(actor, 'add', members, false)
  }
}
