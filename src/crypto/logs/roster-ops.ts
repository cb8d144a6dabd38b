/**
 * Applies roster entries to the state of a roster, and computes what an epoch covers (section 4).
 *
 * Each op is a row of `CHANGES`. `roster-form.ts` defines the form of the ops.
 */
import { encodeBase64url } from '../encoding/base64url.ts'
import { verifyConsent } from './consent.ts'
import { isLinked } from './generations.ts'
import { signerAt, verifySignedBy } from './key-log-ops.ts'
import { generationAt } from './key-log.ts'
import type { LoggedDevice } from './key-log-ops.ts'
import type { KeyLog } from './key-log.ts'
import { requireThat, type RefusalReason } from '../refusal.ts'
import { MOST_MEMBERS } from './limits.ts'
import { FORMS } from './roster-form.ts'
import type { RosterEntry, OpName, Payload, RosterRole } from './roster-form.ts'

export type RosterMember = {
  account: string
  role: RosterRole
  /** The lowest seq that the member's next `actor_log` may name. */
  logSeq: number
  /** The last seq in the member's key log that the current epoch covers; see `heldMembers`. */
  coveredSeq: number
  /**
   * The generation of the member's key log that may sign. Devices of linked generations may too.
   */
  generation: number
}

/** The verified key logs of the accounts in a roster, by account id. */
export type KeyLogs = ReadonlyMap<string, KeyLog>

/**
 * An account's last exit: the seq of the entry, and the member's `logSeq` at that time.
 *
 * An exit is an entry in which the account left or was removed.
 */
type Exit = { readonly seq: number; readonly logSeq: number }

/** The state of a roster after an entry. */
export type RosterState = {
  epoch: number
  /** The hash (32 bytes) of the entry that opened the current epoch. */
  epochHead: Uint8Array
  /** The current epoch's commitment in base64url; see `keyCommitment`. */
  kCommit: string
  /** Sorted by when they joined. */
  members: readonly RosterMember[]
  /** Members who left since the epoch began. They have the epoch's K. */
  leavers: readonly RosterMember[]
  /**
   * Accounts with a row, in the entry that opened the epoch, that contradicts the log known here.
   */
  unfit: readonly string[]
  /** While this is true, no words of the connection verify. */
  rotationPending: boolean
  /** An owner ended the connection for all members: no words verify, and no entry may follow. */
  ended: boolean
  /** The forked connection that this one was opened to replace. */
  replaces: string | null
  /**
   * Accounts that left or were removed, by id. All states share this map, because it only grows.
   */
  exits: Map<string, Exit>
  /**
   * The seq of every entry by its hash (base64url). All states share this map, because it only
   * grows.
   */
  places: Map<string, number>
}

/** A row of `logs`: a place in a member's key log that the new epoch covers. */
type Row = NonNullable<Payload['logs']>[number]

/** An entry. `readRosterEntry` has checked that it has the members that its op uses. */
type Content = Required<Payload>
/** `proven`: whether the entry was verified earlier, so that its signatures are valid. */
type By = { readonly keyLogs: KeyLogs; readonly proven: boolean }
type Change = (before: RosterState, entry: Content, by: By) => Partial<RosterState>

/** Before a change is applied, the actor's place in the state is already that of the entry. */
const CHANGES: Record<OpName, Change> = {
  open: () => ({}),
  add,
  remove: (before, { member, seq }) => ({ members: without(before, member, seq).members }),
  role: ({ members }, { member, role }) => ({ members: changed(members, member, { role }) }),
  leave: (before, { actor, seq }) => {
    const { members, gone } = without(before, actor, seq)
    return { members, leavers: [...before.leavers, gone], rotationPending: true }
  },
  rotate: () => ({}),
  confirm,
  end: () => ({ ended: true }),
}

function add(before: RosterState, entry: Content, { keyLogs, proven }: By): Partial<RosterState> {
  const { members, exits, rotationPending, places } = before
  const { connection, actor: inviter, member: account, member_log, role, consent } = entry
  requireThat(
    !rotationPending,
    'rotation_pending',
    'no member can be added while a rotation is pending',
  )
  const isNew = members.every((one) => one.account !== account)
  requireThat(isNew, 'already_member', 'the account is already a member')
  requireThat(
    members.length < MOST_MEMBERS,
    'too_many_members',
    `there are already ${MOST_MEMBERS} members`,
  )
  const log = logAt(keyLogs, account, member_log, 'member_log_mismatch')
  const invited = { connection, inviter, account, memberLog: member_log.seq }
  const { roster_head: head } = verifyConsent(consent, invited, log, proven)
  const exit = exits.get(account)
  const isFresh = (places.get(head) ?? -1) >= (exit?.seq ?? 0)
  requireThat(
    isFresh,
    'consent_stale',
    'the consent is for another roster, or it is older than the last time that the account left',
  )
  const newcomer: RosterMember = {
    account,
    role,
    logSeq: Math.max(member_log.seq, exit?.logSeq ?? 0),
    coveredSeq: member_log.seq,
    generation: generationAt(log, member_log.seq),
  }
  return { members: [...members, newcomer] }
}

/** An owner accepts the new keys of a member. The new keys replaced all its devices. */
function confirm({ members }: RosterState, entry: Content, { keyLogs }: By): Partial<RosterState> {
  const { actor, member, member_log } = entry
  requireThat(member !== actor, 'self_confirm', 'an account cannot confirm its own keys')
  const { generation: before, logSeq } = memberOf(members, member)
  const log = logAt(keyLogs, member, member_log, 'member_log_mismatch')
  const generation = generationAt(log, member_log.seq)
  requireThat(generation > before, 'no_new_generation', 'the generation is already confirmed')
  const place = Math.max(logSeq, member_log.seq)
  return { members: changed(members, member, { generation, logSeq: place }) }
}

/**
 * Returns the state after an entry with the hash `hash`, given the state before it.
 *
 * `before` is undefined at seq 0.
 * @throws Refusal for the first broken rule; see `verifyRoster`
 */
export function applyRosterEntry(
  before: RosterState | undefined,
  entry: RosterEntry,
  hash: Uint8Array,
  by: By,
): RosterState {
  const { keyLogs } = by
  const { opensEpoch } = FORMS[entry.op]
  requireThat(
    (before === undefined) === (entry.op === 'open'),
    'bad_op',
    'the first entry of a roster must have the op open, and no later entry may have it',
  )
  requireThat(before?.ended !== true, 'ended', 'no entry may follow the end of a connection')
  requireEpoch(entry, before?.epoch ?? 0)
  const signer = signerOf(entry, by)
  const there = before ?? opened(entry, hash, signer)
  const bound = { ...there, members: seated(there, entry, signer, keyLogs) }
  const actor = memberOf(bound.members, entry.actor)
  const may = FORMS[entry.op].signedBy === 'member' || actor.role === 'owner'
  requireThat(may, 'not_owner', 'only an owner may sign this')
  requireRowsOf(bound.members, entry)
  // `readRosterEntry` has checked that the members of the op are present.
  const after = { ...bound, ...CHANGES[entry.op](bound, entry as Content, by) }
  const isOwned = after.members.some(({ role }) => role === 'owner')
  requireThat(isOwned, 'last_owner', 'the connection would have no owner after this entry')
  after.places.set(encodeBase64url(hash), entry.seq)
  return opensEpoch ? { ...after, ...newEpoch(after, entry, hash, keyLogs) } : after
}

function requireEpoch({ op, epoch }: RosterEntry, before: number): void {
  const isRaised = op === 'leave' && epoch > before
  requireThat(!isRaised, 'leave_opens_epoch', 'a member who leaves cannot open an epoch')
  const expected = before + (FORMS[op].opensEpoch ? 1 : 0)
  requireThat(epoch === expected, 'epoch_skip', `the epoch of this entry must be ${expected}`)
}

/** Returns the state in which the first entry is signed: the entry's actor owns the connection. */
function opened(
  { actor: account, k_commit, actor_log: { seq }, replaces }: RosterEntry,
  hash: Uint8Array,
  { generation }: LoggedDevice,
): RosterState {
  const owner: RosterMember = { account, role: 'owner', logSeq: seq, coveredSeq: seq, generation }
  return {
    epoch: 0,
    epochHead: hash,
    kCommit: k_commit!,
    members: [owner],
    leavers: [],
    unfit: [],
    rotationPending: false,
    ended: false,
    replaces: replaces ?? null,
    exits: new Map(),
    places: new Map(),
  }
}

/** Returns the members, with the place and the generation that the actor signs with. */
function seated(
  { members }: RosterState,
  { actor, actor_log: { seq } }: RosterEntry,
  { generation }: LoggedDevice,
  keyLogs: KeyLogs,
): readonly RosterMember[] {
  const actorMember = memberOf(members, actor)
  requireThat(
    seq >= actorMember.logSeq,
    'actor_log_back',
    'actor_log names an earlier place in the key log than an earlier entry',
  )
  const isSeated = isLinked(keyLogs.get(actor)!, actorMember.generation, generation)
  requireThat(
    isSeated,
    'generation_unconfirmed',
    'an owner has not confirmed the reset of this account',
  )
  return changed(members, actor, { logSeq: seq, generation })
}

function requireRowsOf(members: readonly RosterMember[], { actor, logs = [] }: RosterEntry): void {
  const isOther = (account: string) =>
    account !== actor && members.some((one) => one.account === account)
  const areOthers = logs.every(({ account }) => isOther(account))
  requireThat(
    areOthers,
    'logs_not_member',
    'logs may name only members, without the account that signs',
  )
}

/** Returns the changes that result from opening an epoch. */
function newEpoch(
  { epoch, members }: RosterState,
  entry: RosterEntry,
  epochHead: Uint8Array,
  keyLogs: KeyLogs,
): Partial<RosterState> {
  return {
    epoch: epoch + 1,
    epochHead,
    kCommit: entry.k_commit!,
    members: members.map((one) => ({ ...one, coveredSeq: coveredBy(entry, one, keyLogs) })),
    leavers: [],
    unfit: (entry.logs ?? []).filter((row) => !fits(row, keyLogs)).map(({ account }) => account),
    // An owner who removed itself chose the new K and still has it. Another member must rotate.
    rotationPending: members.every(({ account }) => account !== entry.actor),
  }
}

/**
 * Returns the seq, in a member's key log, that an epoch covers.
 *
 * For the actor it is the entry's `actor_log`. For another member it is the seq in the entry's row,
 * if the row fits the log known here and is not older than the last place named. Otherwise it is
 * the last place named.
 */
function coveredBy(
  { logs = [] }: RosterEntry,
  { account, logSeq }: RosterMember,
  keyLogs: KeyLogs,
): number {
  const row = logs.find((one) => one.account === account)
  if (row === undefined || row.seq < logSeq) return logSeq
  return fits(row, keyLogs) ? row.seq : logSeq
}

/** Whether a row names a place of the log known here. */
function fits({ account, seq, head }: Row, keyLogs: KeyLogs): boolean {
  const known = keyLogs.get(account)?.heads[seq]
  return known !== undefined && encodeBase64url(known) === head
}

/** Returns the device that signed an entry. It must be active at the place that the entry names. */
function signerOf(entry: RosterEntry, { keyLogs, proven }: By): LoggedDevice {
  const log = logAt(keyLogs, entry.actor, entry.actor_log, 'actor_log_mismatch')
  const signer = signerAt(log, entry.device, entry.actor_log.seq)
  verifySignedBy(signer, entry.jws, proven)
  return signer
}

/** Returns an account's key log after checking that `at` is a place in it. */
function logAt(
  keyLogs: KeyLogs,
  account: string,
  at: { seq: number; head: string },
  otherwise: RefusalReason,
): KeyLog {
  const log = keyLogs.get(account)
  const head = log?.heads[at.seq]
  const isSame = head !== undefined && encodeBase64url(head) === at.head
  requireThat(log !== undefined && isSame, otherwise, 'not a place in the key log of that account')
  return log
}

function memberOf(members: readonly RosterMember[], account: string): RosterMember {
  const found = members.find((one) => one.account === account)
  requireThat(found !== undefined, 'not_member', 'the account is not a member')
  return found
}

function changed(
  members: readonly RosterMember[],
  account: string,
  change: Partial<RosterMember>,
): readonly RosterMember[] {
  const found = memberOf(members, account)
  return members.with(members.indexOf(found), { ...found, ...change })
}

/** Returns the members without one member, and records its exit at entry `seq`. */
function without({ members, exits }: RosterState, account: string, seq: number) {
  const gone = memberOf(members, account)
  exits.set(account, { seq, logSeq: gone.logSeq })
  return { members: members.filter((one) => one !== gone), gone }
}
