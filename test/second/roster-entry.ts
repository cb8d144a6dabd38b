/** Section 4: the form of a roster entry. */
import { type Bytes, need, order, Refused } from './bytes.ts'
import { checkPlace, type Entry, place } from './chain.ts'
import { type Consent, type Place, placeAt, readConsent } from './consent.ts'
import { accountAt, connectionAt, deviceAt, raw } from './ids.ts'
import { bytesAt, countAt, exactly, type JsonObject, textAt, versionTwo } from './json.ts'
import { parseJws } from './jws.ts'

export type Op = 'open' | 'add' | 'remove' | 'role' | 'leave' | 'rotate' | 'confirm' | 'end'
export type Role = 'owner' | 'member'

interface Row extends Place {
  readonly account: string
}

export interface RosterEntry extends Entry {
  readonly connection: string
  readonly epoch: number
  readonly op: Op
  readonly member: string | null
  readonly memberLog: Place | null
  readonly role: Role | null
  readonly consent: Consent | null
  readonly kCommit: Bytes | null
  readonly logs: readonly Row[]
  readonly actor: string
  readonly device: string
  readonly actorLog: Place
}

const COMMON = [
  'v',
  'connection',
  'seq',
  'epoch',
  'prev',
  'op',
  'actor',
  'device',
  'actor_log',
  'at',
]
const OWN: Readonly<Record<Op, { required: readonly string[]; optional: readonly string[] }>> = {
  open: { required: [], optional: ['replaces'] },
  add: { required: ['member', 'member_log', 'role', 'consent'], optional: [] },
  remove: { required: ['member'], optional: ['logs'] },
  role: { required: ['member', 'role'], optional: [] },
  leave: { required: [], optional: [] },
  rotate: { required: [], optional: ['logs'] },
  confirm: { required: ['member', 'member_log'], optional: ['logs'] },
  end: { required: [], optional: [] },
}
export const OPENS: readonly Op[] = ['open', 'remove', 'rotate', 'confirm']
const ALL = ['member', 'member_log', 'role', 'consent', 'logs', 'replaces']
const MOST_ROWS = 199

/**
 * Parses an entry.
 * @throws Refused with a reason of the kit
 */
export function readRosterEntry(text: string): RosterEntry {
  const jws = parseJws(text, 'roster+jws')
  const { payload } = jws
  versionTwo(payload)
  const op = textAt(payload, 'op') as Op
  need(Object.hasOwn(OWN, op), 'bad_op')
  const opens = OPENS.includes(op)
  need(!opens || payload.has('k_commit'), 'missing_k_commit')
  need(opens || !payload.has('k_commit'), 'superfluous_k_commit')
  const { required, optional } = OWN[op]
  exactly(payload, [...COMMON, ...required], [...optional, 'k_commit'], ALL)
  const seq = countAt(payload, 'seq')
  need((seq === 0) === (op === 'open'), 'bad_op')
  checkPlace('roster', op, seq)
  countAt(payload, 'at')
  const connection = connectionAt(payload, 'connection')
  if (payload.has('replaces')) need(connectionAt(payload, 'replaces') !== connection, 'bad_value')
  return {
    ...place(jws),
    connection,
    epoch: countAt(payload, 'epoch', 2 ** 32 - 1),
    op,
    member: payload.has('member') ? accountAt(payload, 'member') : null,
    memberLog: payload.has('member_log') ? placeAt(payload, 'member_log') : null,
    role: payload.has('role') ? readRole(payload) : null,
    consent: payload.has('consent') ? readConsent(textAt(payload, 'consent')) : null,
    kCommit: opens ? bytesAt(payload, 'k_commit', 32) : null,
    logs: payload.has('logs') ? readRows(payload) : [],
    actor: accountAt(payload, 'actor'),
    device: deviceAt(payload, 'device'),
    actorLog: placeAt(payload, 'actor_log'),
  }
}

function readRole(payload: JsonObject): Role {
  const role = textAt(payload, 'role')
  need(role === 'owner' || role === 'member', 'bad_value')
  return role
}

function readRows(payload: JsonObject): Row[] {
  const rows = payload.get('logs')
  need(Array.isArray(rows) && rows.length > 0, 'bad_value')
  need(rows.length <= MOST_ROWS, 'too_many_rows')
  const parsed = rows.map((row: unknown): Row => {
    if (!(row instanceof Map)) throw new Refused('bad_value')
    exactly(row as JsonObject, ['account', 'seq', 'head'])
    return {
      account: accountAt(row as JsonObject, 'account'),
      seq: countAt(row as JsonObject, 'seq'),
      head: bytesAt(row as JsonObject, 'head', 32),
    }
  })
  for (let i = 1; i < parsed.length; i++)
    need(order(raw(parsed[i - 1]!.account), raw(parsed[i]!.account)) < 0, 'logs_unsorted')
  return parsed
}
