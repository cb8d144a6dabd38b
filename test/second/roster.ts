/** Section 4: verification of a whole roster. */
import { type Bytes, hex, need, Refused, same, unhex } from './bytes.ts'
import { type Known, walk } from './chain.ts'
import { checkConsentLog } from './consent.ts'
import { kCommitOf } from './envelope.ts'
import { raw } from './ids.ts'
import { thumbprint, verifyJws } from './jws.ts'
import {
  deviceAtPlace,
  exitsAfter,
  fits,
  generationAt,
  isLinked,
  type KeyLog,
  newest,
} from './key-log.ts'
import { OPENS, readRosterEntry, type Role, type RosterEntry } from './roster-entry.ts'

interface Seat {
  readonly role: Role
  /** Generation of the member's log, from 1. */
  readonly generation: number
}

interface State {
  readonly connection: string
  readonly epoch: number
  readonly epochHead: Bytes
  readonly seats: ReadonlyMap<string, Seat>
  /** Last `actor_log` or `member_log` of each account that was ever a member. */
  readonly last: ReadonlyMap<string, number>
  /**
   * The highest of these. No later `actor_log` of the account is lower, not even after a new
   * `add`.
   */
  readonly highest: ReadonlyMap<string, number>
  /** Place of the last removal or leave of each account. */
  readonly exits: ReadonlyMap<string, number>
  /** The place that the epoch covers for each member, and for each account that left in it. */
  readonly covered: ReadonlyMap<string, number>
  readonly pending: boolean
  readonly ended: boolean
  /** Hashes of the entries up to this one. */
  readonly chain: readonly Bytes[]
}

export interface Roster {
  readonly entries: readonly RosterEntry[]
  readonly states: readonly State[]
}

/** Returns the newest verified key log of an account on this device. */
export type LogOf = (account: string) => KeyLog

const MOST_MEMBERS = 200

function apply(before: State | null, entry: RosterEntry, logOf: LogOf): State {
  const { op, actor } = entry
  need(before === null || entry.connection === before.connection, 'wrong_connection')
  const opens = OPENS.includes(op)
  const wantedEpoch = (before?.epoch ?? 0) + (opens ? 1 : 0)
  need(entry.epoch === wantedEpoch, op === 'leave' ? 'leave_opens_epoch' : 'epoch_skip')
  need(before === null || !before.ended, 'connection_ended')

  const generation = checkSigner(before, entry, logOf)
  const seats = new Map(before?.seats)
  const last = new Map(before?.last)
  const highest = new Map(before?.highest)
  const reach = (account: string, seq: number): void => {
    last.set(account, seq)
    highest.set(account, Math.max(seq, highest.get(account) ?? 0))
  }
  const exits = new Map(before?.exits)
  const covered = new Map(before?.covered)
  const own = seats.get(actor)
  if (op === 'add' || op === 'remove' || op === 'role' || op === 'confirm' || op === 'end')
    need(own?.role === 'owner', 'not_owner')
  for (const row of entry.logs)
    need(seats.has(row.account) && row.account !== actor, 'logs_not_member')

  reach(actor, entry.actorLog.seq)
  seats.set(actor, { role: own?.role ?? 'owner', generation })
  let pending = before?.pending ?? false

  const { member, memberLog } = entry
  if (op === 'add') {
    need(!pending, 'rotation_pending')
    need(!seats.has(member!), 'already_member')
    need(seats.size < MOST_MEMBERS, 'too_many_members')
    const log = logOf(member!)
    need(fits(log, memberLog!.seq, memberLog!.head), 'member_log_mismatch')
    checkConsent(before!, entry, log)
    seats.set(member!, { role: entry.role!, generation: generationAt(log, memberLog!.seq) })
    reach(member!, memberLog!.seq)
    covered.set(member!, memberLog!.seq)
  }
  if (op === 'role' || op === 'remove' || op === 'confirm') need(seats.has(member!), 'not_member')
  if (op === 'role') seats.set(member!, { ...seats.get(member!)!, role: entry.role! })
  if (op === 'confirm') {
    need(member !== actor, 'self_confirm')
    const log = logOf(member!)
    need(fits(log, memberLog!.seq, memberLog!.head), 'member_log_mismatch')
    const later = generationAt(log, memberLog!.seq)
    const seat = seats.get(member!)!
    need(later > seat.generation, 'no_new_generation')
    seats.set(member!, { ...seat, generation: later })
    reach(member!, memberLog!.seq)
  }
  const leaver = op === 'leave' ? actor : op === 'remove' ? member! : null
  if (leaver !== null) {
    seats.delete(leaver)
    exits.set(leaver, entry.seq)
  }
  need(
    [...seats.values()].some(({ role }) => role === 'owner'),
    'last_owner',
  )

  if (opens) {
    pending = leaver === actor
    covered.clear()
    for (const account of seats.keys()) covered.set(account, coveredBy(entry, account, last, logOf))
  }
  if (op === 'leave') pending = true
  return {
    connection: entry.connection,
    epoch: entry.epoch,
    epochHead: opens ? entry.jws.hash : before!.epochHead,
    seats,
    last,
    highest,
    exits,
    covered,
    pending,
    ended: op === 'end',
    chain: [...(before?.chain ?? []), entry.jws.hash],
  }
}

/** Checks the signer and the signature; returns the actor’s generation after the entry. */
function checkSigner(before: State | null, entry: RosterEntry, logOf: LogOf): number {
  const { actor, actorLog } = entry
  const seat = before?.seats.get(actor)
  need(before === null || seat !== undefined, 'not_member')
  const log = logOf(actor)
  need(fits(log, actorLog.seq, actorLog.head), 'actor_log_mismatch')
  const signer = deviceAtPlace(log, actorLog.seq, entry.device)
  if (signer === undefined) throw new Refused('unknown_signer')
  need(signer.revokedAt === null, 'revoked_signer')
  need(entry.jws.kid === thumbprint(signer.sign), 'kid_mismatch')
  verifyJws(entry.jws, signer.sign)
  const generation = generationAt(log, actorLog.seq)
  if (seat !== undefined) {
    need(actorLog.seq >= before!.highest.get(actor)!, 'actor_log_back')
    need(isLinked(log, generation, seat.generation), 'generation_unconfirmed')
  }
  return generation
}

function checkConsent(before: State, entry: RosterEntry, log: KeyLog): void {
  const consent = entry.consent!
  need(
    consent.connection === entry.connection &&
      consent.inviter === entry.actor &&
      consent.account === entry.member,
    'consent_mismatch',
  )
  checkConsentLog(consent, log, entry.memberLog!)
  const from = before.exits.get(entry.member!) ?? 0
  const at = before.chain.findIndex((hash) => same(hash, consent.rosterHead))
  need(at >= from, 'consent_stale')
}

/**
 * Returns the place that an epoch covers for a member (section 4).
 * `last` holds the last known places up to the opening entry: the opener’s is its `actor_log`, a
 * confirmed member’s is `member_log`.
 */
function coveredBy(
  entry: RosterEntry,
  account: string,
  last: ReadonlyMap<string, number>,
  logOf: LogOf,
): number {
  const place = last.get(account)!
  const row = entry.logs.find((one) => one.account === account)
  if (row === undefined || row.seq < place) return place
  return fits(logOf(account), row.seq, row.head) ? row.seq : place
}

/**
 * Verifies the roster of `connection`, entries in the order received.
 * @throws Refused with a reason of the kit
 */
export function verifyRoster(
  connection: string,
  texts: readonly string[],
  known: Known | null,
  logOf: LogOf,
): Roster {
  const asked = (text: string): RosterEntry => {
    const entry = readRosterEntry(text)
    need(entry.connection === connection, 'wrong_connection')
    return entry
  }
  return walk<RosterEntry, State>(texts, known, 'roster_forked', asked, (before, entry) =>
    apply(before, entry, logOf),
  )
}

/** The result of an accepted case of `roster.json`. */
export interface RosterSummary {
  readonly head_hex: string
  readonly seq: number
  readonly epoch: number
  readonly epoch_head_hex: string
  readonly members: readonly { account: string; role: Role; generation: number }[]
  readonly rotation_pending: boolean
  /** Sorted, as `unconfirmed`. */
  readonly held: readonly string[]
  readonly unconfirmed: readonly string[]
}

export function rosterSummary(roster: Roster, logOf: LogOf): RosterSummary {
  const state = roster.states.at(-1)!
  const members = [...state.seats].map(([account, seat]) => ({ account, ...seat }))
  const held = [...state.covered].filter(([account, covered]) =>
    exitsAfter(logOf(account), covered),
  )
  const unconfirmed = members.filter(({ account, generation }) => {
    const log = logOf(account)
    return !isLinked(log, newest(log).generations.length, generation)
  })
  return {
    head_hex: hex(state.chain.at(-1)!),
    seq: state.chain.length - 1,
    epoch: state.epoch,
    epoch_head_hex: hex(state.epochHead),
    members,
    rotation_pending: state.pending,
    held: held.map(([account]) => account).toSorted(),
    unconfirmed: unconfirmed.map(({ account }) => account).toSorted(),
  }
}

/** Returns whether K of each epoch (epoch → hex) fits the `k_commit` of its opening entry. */
export const kCommitsFit = (roster: Roster, keys: Readonly<Record<string, string>>): boolean =>
  roster.entries
    .filter(({ kCommit }) => kCommit !== null)
    .every(({ connection, epoch, kCommit }) => {
      const K = keys[epoch]
      return K !== undefined && same(kCommit!, kCommitOf(raw(connection), epoch, unhex(K)))
    })
