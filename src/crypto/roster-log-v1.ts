/**
 * The roster of a connection (section 4): who is in it, and which entry opened its epoch. Verified
 * against the verified key logs of its members.
 */
import { follow, type Known } from './chain.ts'
import { applyEntry, readEntry, type Entry, type KeyLogs, type State } from './roster-ops-v1.ts'
import { demand } from './refusal.ts'

export type Roster = Omit<State, 'former'> & {
  connection: string
  /** The last entry and its hash, 32 bytes. */
  seq: number
  head: Uint8Array
  /** As received. */
  entries: readonly string[]
}

/**
 * Verifies the whole roster of `connection`. `entries` are the JWSs in order, `keyLogs` the
 * verified logs of everybody who was ever a member (`accountsOf`), `known` the highest place this
 * device has seen. Throws the first rule broken: those of `parseJws`, of the payload, of the chain
 * (`roster_forked`, `gap`, `rollback` …), `wrong_connection`, `bad_op`, `missing_k_commit`,
 * `epoch_skip`, `not_member`, `actor_log_mismatch`, `actor_log_back`, `unknown_signer`,
 * `revoked_signer`, `kid_mismatch`, `bad_signature`, `generation_unconfirmed`, `not_owner`,
 * `rotation_pending`, `already_member`, `too_many_members`, `member_log_mismatch`, `last_owner`,
 * `ended`.
 */
export function verifyRoster(
  connection: string,
  entries: readonly string[],
  keyLogs: KeyLogs,
  known?: Known,
): Roster {
  const read = (text: string): Entry => {
    const entry = readEntry(text)
    demand(entry.connection === connection, 'wrong_connection', 'an entry of another connection')
    return entry
  }
  const apply = (before: State | undefined, entry: Entry, hash: Uint8Array) =>
    applyEntry(before, entry, hash, keyLogs)
  const { state, heads } = follow<Entry, State>(
    entries,
    { read, apply, forked: 'roster_forked' },
    known,
  )
  const { former: _, ...roster } = state
  return { connection, seq: heads.length - 1, head: heads.at(-1)!, ...roster, entries }
}

/**
 * The accounts that entries (JWSs) name, in the order first named, read without being verified:
 * whose key logs `verifyRoster` needs. Throws as `parseJws` and the payload do.
 */
export function accountsOf(entries: readonly string[]): string[] {
  const named = entries.flatMap((text) => {
    const { actor, member } = readEntry(text)
    return member === undefined ? [actor] : [actor, member]
  })
  return [...new Set(named)]
}

/**
 * The ids of the devices that signed the entries after entry `seq` by which `member` went: removed
 * by somebody, or left by itself. Of a verified roster.
 */
export function goneSince({ entries }: Roster, member: string, seq: number): string[] {
  return entries.slice(seq + 1).flatMap((text) => {
    const { op, actor, member: named, device } = readEntry(text)
    const isGone = (op === 'remove' && named === member) || (op === 'leave' && actor === member)
    return isGone ? [device] : []
  })
}
