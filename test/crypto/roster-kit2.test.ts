/** Tests rosters with test kit 2: refusals, and the members of accepted rosters. */
import assert from 'node:assert/strict'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import {
  keyCommitment,
  type OpName,
  requireRosterPlace,
} from '../../src/crypto/logs/roster-form.ts'
import { heldMembers, unconfirmedMembers, verifyRoster } from '../../src/crypto/logs/roster.ts'
import { bytes, hex, readKit, run } from './kit2.ts'

type Logs = Record<string, string[]>

interface RosterCase {
  connection: string
  known: { seq: number; head_hex: string } | null
  entries: number[]
  /** The newest known key logs: those of the file up to a place, or others. */
  logs_upto?: Record<string, number>
  key_logs?: Logs
  seq: number
  head_hex: string
  epoch: number
  epoch_head_hex: string
  members: { account: string; role: string; generation: number }[]
  rotation_pending: boolean
  held: string[]
  unconfirmed: string[]
  keys_hex: Record<string, string>
}

const { pool, key_logs: shared } = readKit<RosterCase, { pool: string[]; key_logs: Logs }>(
  'roster.json',
)

function logsOf({ logs_upto = {}, key_logs = {} }: RosterCase) {
  const entries = { ...shared, ...key_logs }
  return new Map(
    Object.entries(entries).map(([account, log]) => {
      const upto = account in key_logs ? undefined : logs_upto[account]
      return [account, verifyKeyLog(account, log.slice(0, (upto ?? Infinity) + 1))]
    }),
  )
}

run<RosterCase>(
  'roster.json',
  () => true,
  (of) => {
    const logs = logsOf(of)
    const known = of.known === null ? undefined : { ...of.known, head: bytes(of.known.head_hex) }
    const entries = of.entries.map((place) => pool[place]!)
    const roster = verifyRoster(of.connection, entries, logs, known)
    const actual = {
      seq: roster.seq,
      head_hex: hex(roster.head),
      epoch: roster.epoch,
      epoch_head_hex: hex(roster.epochHead),
      members: roster.members.map(({ account, role, generation }) => ({
        account,
        role,
        generation,
      })),
      rotation_pending: roster.rotationPending,
      held: heldMembers(roster, logs).toSorted(),
      unconfirmed: unconfirmedMembers(roster, logs).toSorted(),
    }
    const {
      id: _,
      accept: _a,
      comment: _c,
      connection: _n,
      keys_hex,
      ...wanted
    } = of as never as RosterCase & { id: string; accept: boolean; comment?: string }
    const { known: _k, entries: _e, logs_upto: _u, key_logs: _l, ...expected } = wanted
    // The order of these two lists is not part of the protocol.
    const [held, unconfirmed] = [expected.held.toSorted(), expected.unconfirmed.toSorted()]
    assert.deepEqual(actual, { ...expected, held, unconfirmed })
    const k = bytes(keys_hex[roster.epoch]!)
    assert.equal(keyCommitment(of.connection, roster.epoch, k), roster.kCommit)
  },
)

run<{ op: OpName; seq: number; log: string }>(
  'limits.json',
  ({ kind, ...of }) => kind === 'place' && (of as { log?: string }).log === 'roster',
  ({ op, seq }) => requireRosterPlace(op, seq),
)
