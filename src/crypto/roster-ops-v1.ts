/**
 * What the entries of a roster say and do (section 4). An op is a row of `OPS`: the members that it
 * uses, who may sign it, whether it opens an epoch, and what it changes.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { encodeBase64url } from './base64url.ts'
import { u32be } from './hash-input.ts'
import { parseId, PREFIX } from './id.ts'
import { parseJws, type ParsedJws } from './jws.ts'
import { generationAt, signerAt, verifySignedBy, type Device, type KeyLog } from './key-log-v1.ts'
import { base64url, epochNumber, exactly, id, natural, oneOf, payload, place } from './payload.ts'
import { demand, type Reason } from './refusal.ts'

export type Role = 'owner' | 'member'

export type Member = {
  account: string
  role: Role
  /** The place in the member's key log that its next `actor_log` may not go below. */
  logSeq: number
  /** That place when the current epoch opened or, if later, when it was added. */
  keyedSeq: number
  /** The generation of its log that an owner confirmed; later ones sign nothing. */
  generation: number
}

/** The verified key logs of the accounts in a roster, by account id. */
export type KeyLogs = ReadonlyMap<string, KeyLog>

/** What a roster says after an entry. */
export type State = {
  epoch: number
  /** The hash of the entry that opened the current epoch, 32 bytes. */
  epochHead: Uint8Array
  /** The account that opened it, and so knows its K. */
  opener: string
  /** base64url, see `commitment`. */
  kCommit: string
  /** In order of joining. */
  members: readonly Member[]
  /** While true nothing of the connection verifies. */
  rotationPending: boolean
  /** An owner ended the connection for all: nothing verifies, and no entry follows. */
  ended: boolean
  /** `logSeq` of whoever went, for the day it comes back. Only ever added to, so it is shared. */
  former: Map<string, number>
}

const NAMES = ['open', 'add', 'remove', 'role', 'leave', 'rotate', 'end'] as const
const OPTIONAL = {
  member: id(PREFIX.account),
  member_log: place,
  role: oneOf(['owner', 'member']),
  k_commit: base64url(32),
}
const readPayload = payload(
  {
    connection: id(PREFIX.connection),
    seq: natural,
    epoch: epochNumber,
    prev: base64url(32),
    op: oneOf(NAMES, 'bad_op'),
    actor: id(PREFIX.account),
    device: id(PREFIX.device),
    actor_log: place,
    at: natural,
  },
  OPTIONAL,
)
export type Payload = ReturnType<typeof readPayload>
export type Entry = Payload & { jws: ParsedJws }
type Optional = keyof typeof OPTIONAL
type Op<U extends Optional> = {
  uses: readonly U[]
  signedBy: Role
  opensEpoch: boolean
  /** Changes of the state, in which `logSeq` of the actor is that of this entry already. */
  apply: (
    before: State,
    entry: Pick<Required<Payload>, 'actor' | U>,
    keyLogs: KeyLogs,
  ) => Partial<State>
}

/** The roster of a connection of 201 is refused. */
const MOST_MEMBERS = 200

/** A row, in whose `apply` exactly the members that it uses are known to be there. */
const op = <U extends Optional = never>(row: Op<U>): Op<Optional> => row

const OPS: Record<Payload['op'], Op<Optional>> = {
  open: op({
    uses: ['k_commit'],
    signedBy: 'owner',
    opensEpoch: true,
    apply: () => ({}),
  }),
  add: op({
    uses: ['member', 'member_log', 'role'],
    signedBy: 'owner',
    opensEpoch: false,
    apply: ({ members, former, rotationPending }, { member: account, member_log, role }, logs) => {
      demand(!rotationPending, 'rotation_pending', 'nobody is added while a rotation is pending')
      const isNew = members.every((one) => one.account !== account)
      demand(isNew, 'already_member', 'the account is a member already')
      demand(members.length < MOST_MEMBERS, 'too_many_members', `at most ${MOST_MEMBERS} members`)
      const log = logAt(logs, account, member_log, 'member_log_mismatch')
      const logSeq = Math.max(member_log.seq, former.get(account) ?? 0)
      const generation = generationAt(log, member_log.seq)
      return { members: [...members, { account, role, logSeq, keyedSeq: logSeq, generation }] }
    },
  }),
  remove: op({
    uses: ['member', 'k_commit'],
    signedBy: 'owner',
    opensEpoch: true,
    apply: (before, { member }) => without(before, member),
  }),
  role: op({
    uses: ['member', 'role'],
    signedBy: 'owner',
    opensEpoch: false,
    apply: ({ members }, { member, role }) => {
      const found = memberOf(members, member)
      return { members: members.with(members.indexOf(found), { ...found, role }) }
    },
  }),
  leave: op({
    uses: [],
    signedBy: 'member',
    opensEpoch: false,
    apply: (before, { actor }) => ({ ...without(before, actor), rotationPending: true }),
  }),
  rotate: op({
    uses: ['k_commit'],
    signedBy: 'member',
    opensEpoch: true,
    apply: () => ({}),
  }),
  end: op({
    uses: [],
    signedBy: 'owner',
    opensEpoch: false,
    apply: () => ({ ended: true }),
  }),
}

/** Whether an op makes a new K. */
export const opensEpoch = (name: Payload['op']): boolean => OPS[name].opensEpoch

/**
 * `k_commit` of one epoch: base64url SHA-256(`countersign/v1/k` || 0x00 || connection ||
 * u32be(epoch) || K). Takes the connection's id as text and K as 32 bytes; throws `bad_length`.
 */
export function commitment(connection: string, epoch: number, k: Uint8Array): string {
  demand(k.length === 32, 'bad_length', 'K is 32 bytes')
  const label = utf8ToBytes('countersign/v1/k')
  const subject = parseId(PREFIX.connection, connection)
  return encodeBase64url(sha256(concatBytes(label, Uint8Array.of(0), subject, u32be(epoch), k)))
}

/**
 * Takes an entry apart, with exactly the members of its op; nothing is verified yet. Throws what
 * `parseJws` and the payload throw, `bad_op`, `missing_k_commit`, `superfluous_member`.
 */
export function readEntry(text: string): Entry {
  const jws = parseJws(text, 'roster+jws')
  const entry = readPayload(jws.payload)
  const { uses, opensEpoch: opens } = OPS[entry.op]
  const commits = entry.k_commit !== undefined || !opens
  demand(commits, 'missing_k_commit', 'an entry that opens an epoch commits to its K')
  exactly(entry, Object.keys(OPTIONAL), uses)
  return { ...entry, jws }
}

/**
 * The state after an entry whose hash is `hash`, from the state before it (none at seq 0). Throws
 * the first rule broken: see `verifyRoster`.
 */
export function applyEntry(
  before: State | undefined,
  entry: Entry,
  hash: Uint8Array,
  keyLogs: KeyLogs,
): State {
  const { signedBy, opensEpoch: opens, apply } = OPS[entry.op]
  demand((before === undefined) === (entry.op === 'open'), 'bad_op', 'a roster opens once, first')
  demand(before?.ended !== true, 'ended', 'no entry follows the end of a connection')
  const epoch = (before?.epoch ?? 0) + (opens ? 1 : 0)
  demand(entry.epoch === epoch, 'epoch_skip', `the epoch of this entry is ${epoch}`)
  const { actor: opener, k_commit: kCommit } = entry
  const opened = { epoch, epochHead: hash, opener, kCommit: kCommit!, rotationPending: false }
  if (before === undefined) {
    return { ...opened, ended: false, members: [creatorOf(entry, keyLogs)], former: new Map() }
  }

  const actor = memberOf(before.members, entry.actor)
  const { seq } = entry.actor_log
  const signer = signerOf(entry, keyLogs)
  demand(seq >= actor.logSeq, 'actor_log_back', 'actor_log goes back')
  const confirmed = signer.generation <= actor.generation
  demand(
    confirmed,
    'generation_unconfirmed',
    'an owner has not confirmed the reset of this account',
  )
  const may = signedBy === 'member' || actor.role === 'owner'
  demand(may, 'not_owner', 'only an owner signs this')

  const place = before.members.indexOf(actor)
  const bound = { ...before, members: before.members.with(place, { ...actor, logSeq: seq }) }
  // `readEntry` saw that the members of the op are there.
  const after = { ...bound, ...apply(bound, entry as Required<Payload>, keyLogs) }
  const owned = after.members.some(({ role }) => role === 'owner')
  demand(owned, 'last_owner', 'no owner would be left')
  if (!opens) return after
  const members = after.members.map((one) => ({ ...one, keyedSeq: one.logSeq }))
  return { ...after, ...opened, members }
}

function creatorOf(entry: Entry, keyLogs: KeyLogs): Member {
  const { generation } = signerOf(entry, keyLogs)
  const { seq } = entry.actor_log
  return { account: entry.actor, role: 'owner', logSeq: seq, keyedSeq: seq, generation }
}

/** The device that signed an entry, unrevoked at the place of its log that the entry names. */
function signerOf(entry: Entry, keyLogs: KeyLogs): Device {
  const log = logAt(keyLogs, entry.actor, entry.actor_log, 'actor_log_mismatch')
  const signer = signerAt(log, entry.device, entry.actor_log.seq)
  verifySignedBy(signer, entry.jws)
  return signer
}

/** The key log of an account, of which `at` is a place. */
function logAt(
  keyLogs: KeyLogs,
  account: string,
  at: { seq: number; head: string },
  otherwise: Reason,
): KeyLog {
  const log = keyLogs.get(account)
  const head = log?.heads[at.seq]
  const same = head !== undefined && encodeBase64url(head) === at.head
  demand(log !== undefined && same, otherwise, 'not a place of the key log of that account')
  return log
}

function memberOf(members: readonly Member[], account: string): Member {
  const found = members.find((one) => one.account === account)
  demand(found !== undefined, 'not_member', 'the account is no member')
  return found
}

function without({ members, former }: State, account: string): Pick<State, 'members'> {
  const gone = memberOf(members, account)
  former.set(account, gone.logSeq)
  return { members: members.filter((one) => one !== gone) }
}
