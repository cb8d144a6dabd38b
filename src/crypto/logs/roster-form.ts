/**
 * The form of roster entries (section 4), as far as it can be checked without other entries.
 *
 * Defines the members of each op, who may sign it, and at which places in a roster it may be.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import { labelled, requireLength, u32be } from '../encoding/hash-input.ts'
import { ID_PREFIX, parseId } from '../encoding/id.ts'
import { type ParsedJws, parseJws } from '../jose/jws.ts'
import { requireThat } from '../refusal.ts'
import { requirePlace } from './chain.ts'
import { MOST_MEMBERS } from './limits.ts'
import {
  accountId,
  base64url,
  epochNumber,
  exactly,
  idWithPrefix,
  type MemberKind,
  natural,
  oneOf,
  payload,
  place,
  record,
  string,
} from './payload.ts'

export type RosterRole = 'owner' | 'member'

const NAMES = ['open', 'add', 'remove', 'role', 'leave', 'rotate', 'confirm', 'end'] as const
export type OpName = (typeof NAMES)[number]

const logRow = record({ account: accountId, seq: natural, head: base64url(32) })
type LogRow = ReturnType<typeof logRow>

/** Ids can be compared as texts, because they sort in the same order as their bytes. */
const logRows: MemberKind<LogRow[]> = (value) => {
  const isList = Array.isArray(value) && value.length > 0
  requireThat(isList, 'bad_value', 'logs must be a list of at least one row, or absent')
  const most = MOST_MEMBERS - 1
  requireThat(value.length < MOST_MEMBERS, 'too_many_rows', `logs must have at most ${most} rows`)
  const rows = value.map((row) => logRow(row))
  const isSorted = rows.every((row, at) => at === 0 || rows[at - 1]!.account < row.account)
  requireThat(
    isSorted,
    'logs_unsorted',
    'the rows of logs must be sorted by account, with each account once',
  )
  return rows
}

const OPTIONAL = {
  member: accountId,
  member_log: place,
  role: oneOf(['owner', 'member']),
  consent: string,
  k_commit: base64url(32),
  logs: logRows,
  replaces: idWithPrefix(ID_PREFIX.connection),
}
type Optional = keyof typeof OPTIONAL

const readPayload = payload(
  {
    connection: idWithPrefix(ID_PREFIX.connection),
    seq: natural,
    epoch: epochNumber,
    prev: base64url(32),
    op: oneOf(NAMES, 'bad_op'),
    actor: accountId,
    device: idWithPrefix(ID_PREFIX.device),
    actor_log: place,
    at: natural,
  },
  OPTIONAL,
)
export type Payload = ReturnType<typeof readPayload>
export type RosterEntry = Payload & { readonly jws: ParsedJws }

type Form = {
  readonly uses: readonly Optional[]
  /** The optional members that this op may have in addition to `uses`. */
  readonly mayUse?: readonly Optional[]
  readonly signedBy: RosterRole
  /** Whether the entry opens an epoch with a new K. */
  readonly opensEpoch: boolean
  /** Whether the entry may be at one of the last 1,000 places. */
  readonly endsAccess: boolean
}

export const FORMS: Record<OpName, Form> = {
  open: {
    uses: ['k_commit'],
    mayUse: ['replaces'],
    signedBy: 'owner',
    opensEpoch: true,
    endsAccess: false,
  },
  add: {
    uses: ['member', 'member_log', 'role', 'consent'],
    signedBy: 'owner',
    opensEpoch: false,
    endsAccess: false,
  },
  remove: {
    uses: ['member', 'k_commit'],
    mayUse: ['logs'],
    signedBy: 'owner',
    opensEpoch: true,
    endsAccess: true,
  },
  role: { uses: ['member', 'role'], signedBy: 'owner', opensEpoch: false, endsAccess: false },
  leave: { uses: [], signedBy: 'member', opensEpoch: false, endsAccess: true },
  rotate: {
    uses: ['k_commit'],
    mayUse: ['logs'],
    signedBy: 'member',
    opensEpoch: true,
    endsAccess: false,
  },
  confirm: {
    uses: ['member', 'member_log', 'k_commit'],
    mayUse: ['logs'],
    signedBy: 'owner',
    opensEpoch: true,
    endsAccess: true,
  },
  end: { uses: [], signedBy: 'owner', opensEpoch: false, endsAccess: true },
}

/**
 * Throws if an op is not allowed at a place in a roster.
 * @throws Refusal `log_full`
 */
export const requireRosterPlace = (op: OpName, seq: number): void =>
  requirePlace(seq, FORMS[op].endsAccess)

/**
 * Reads an entry and checks that it has exactly the members of its op. Nothing is verified.
 * @throws Refusal as `parseJws` and `payload`; `bad_op`, `not_an_account`, `too_many_rows`,
 * `logs_unsorted`, `missing_k_commit`, `superfluous_k_commit`, `superfluous_member`, `log_full`
 */
export function readRosterEntry(jws: string): RosterEntry {
  const parsed = parseJws(jws, 'roster+jws')
  const entry = readPayload(parsed.payload)
  const { uses, mayUse = [], opensEpoch } = FORMS[entry.op]
  const commits = entry.k_commit !== undefined
  requireThat(
    commits || !opensEpoch,
    'missing_k_commit',
    'an entry that opens an epoch must commit to its secret (k_commit)',
  )
  requireThat(
    !commits || opensEpoch,
    'superfluous_k_commit',
    'only an entry that opens an epoch may commit to a secret (k_commit)',
  )
  const forbidden = Object.keys(OPTIONAL).filter((name) => !mayUse.some((one) => one === name))
  exactly(entry, forbidden, uses)
  const isOther = entry.replaces !== entry.connection
  requireThat(isOther, 'bad_value', 'a connection cannot replace itself')
  requireRosterPlace(entry.op, entry.seq)
  return { ...entry, jws: parsed }
}

/**
 * Returns `k_commit`: the commitment to an epoch's secret in the entry that opens the epoch.
 *
 * It is base64url SHA-256 over the connection, the epoch and K (32 bytes).
 * @throws Refusal `bad_length`, `bad_value`, and as `parseId`
 */
export function keyCommitment(connection: string, epoch: number, k: Uint8Array): string {
  requireLength(k, 32, 'K')
  const subject = parseId(ID_PREFIX.connection, connection)
  return encodeBase64url(sha256(labelled('countersign/v2/k', subject, u32be(epoch), k)))
}
