/**
 * What the key log and the roster share: entries numbered from 0, each naming the hash of the one
 * before. A list that skips, repeats or forks is refused, and so is one that does not continue
 * what this device has seen.
 */
import { encodeBase64url } from './base64url.ts'
import { hashOf } from './jws.ts'
import { demand, Refusal, type Reason } from './refusal.ts'

/** The highest place seen: `head` is the hash of entry `seq`, 32 bytes. */
export type Known = { seq: number; head: Uint8Array }

/** `prev` of the entry with seq 0. */
export const NO_PREV = encodeBase64url(new Uint8Array(32))

export type Rules<E extends { seq: number; prev: string }, S> = {
  /** Takes one entry apart; throws what breaks a rule without looking at others. */
  read: (jws: string) => E
  /** The state after an entry, from the state before it (none at seq 0); throws if it may not. */
  apply: (before: S | undefined, entry: E, hash: Uint8Array) => S
  /** The reason for two valid successors of one `prev`. */
  forked: Reason
}

/**
 * Follows `entries` (each an ASCII JWS) in the order received. Out: the state after the last, and
 * the hash of every entry. Throws `empty`, `gap`, `prev_mismatch`, `duplicate_entry`, the reason
 * of a fork, `rollback`, and what `read` and `apply` throw.
 */
export function follow<E extends { seq: number; prev: string }, S>(
  entries: readonly string[],
  rules: Rules<E, S>,
  known?: Known,
): { state: S; heads: Uint8Array[] } {
  demand(entries.length > 0, 'empty', 'a log has at least one entry')
  const states: S[] = []
  const heads: Uint8Array[] = []
  const prevAt = (seq: number) => (seq === 0 ? NO_PREV : encodeBase64url(heads[seq - 1]!))

  for (const jws of entries) {
    const entry = rules.read(jws)
    const { seq } = entry
    demand(seq <= heads.length, 'gap', `entry ${heads.length} is missing`)
    const again = seq < heads.length && entries[seq] === jws
    demand(!again, 'duplicate_entry', `entry ${seq} comes twice`)
    demand(
      entry.prev === prevAt(seq),
      'prev_mismatch',
      `entry ${seq} does not follow the one before`,
    )
    const hash = hashOf(jws)
    const state = rules.apply(states[seq - 1], entry, hash)
    // Only now: an invalid second successor is no fork, it is merely refused.
    if (seq < heads.length) throw new Refusal(rules.forked, `two entries ${seq}`)
    states.push(state)
    heads.push(hash)
  }

  if (known !== undefined) {
    const head = heads[known.seq]
    demand(head !== undefined, 'rollback', `entry ${known.seq} was seen before and is missing`)
    const same = encodeBase64url(head) === encodeBase64url(known.head)
    demand(same, rules.forked, `entry ${known.seq} was seen before and was another`)
  }
  return { state: states.at(-1)!, heads }
}
