/** Results of the first implementation for key logs and rosters, in the form of the kit. */
import { isLinked } from '../../src/crypto/logs/generations.ts'
import type * as first from '../../src/crypto/logs/key-log.ts'
import * as firstRoster from '../../src/crypto/logs/roster.ts'
import { fromBase64url, hex, unhex } from './bytes.ts'
import type { Known } from './chain.ts'
import type { summary } from './key-log.ts'
import type { Random } from './random.ts'
import type { rosterSummary } from './roster.ts'
import { hashText } from './signing.ts'

/** Returns a place of the list, or sometimes a missing or different one. */
export function randomKnown(of: Random, entries: readonly string[]): Known | null {
  if (of.below(2) === 0) return null
  const seq = of.below(entries.length + 1)
  const entry = entries[seq]
  const head = entry === undefined || of.below(4) === 0 ? of.bytes(32) : hashOf(entry)
  return { seq, head_hex: hex(head) }
}

const hashOf = (entry: string) => fromBase64url(hashText(entry))

/** Returns the same place in the form of the first implementation. */
export const firstKnown = (known: Known | null) =>
  known === null ? undefined : { seq: known.seq, head: unhex(known.head_hex) }

/** Returns the result of the first implementation for a key log, in the form of the kit. */
export function firstKeyLogSummary(log: first.KeyLog): ReturnType<typeof summary> {
  const { generation, seq, head, recovery, active } = log
  const generations = Array.from({ length: generation }, (_, at) => at + 1)
  return {
    head_hex: hex(head),
    seq,
    generation,
    linked_to: generations.filter((one) => isLinked(log, one, generation)),
    recovery,
    active: active.map(({ id }) => id),
    seals: Object.fromEntries(active.map(({ id, seal }) => [id, seal])),
  }
}

/** Returns the result of the first implementation for a roster, in the form of the kit. */
export function firstRosterSummary(
  roster: firstRoster.Roster,
  logs: firstRoster.KeyLogs,
): ReturnType<typeof rosterSummary> {
  const { seq, head, epoch, epochHead, members, rotationPending } = roster
  return {
    head_hex: hex(head),
    seq,
    epoch,
    epoch_head_hex: hex(epochHead),
    members: members.map(({ account, role, generation }) => ({ account, role, generation })),
    rotation_pending: rotationPending,
    held: firstRoster.heldMembers(roster, logs).toSorted(),
    unconfirmed: firstRoster.unconfirmedMembers(roster, logs).toSorted(),
  }
}
