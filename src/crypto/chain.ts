/**
 * What the key log and the roster share: entries numbered from 0, each naming the hash of the one
 * before. A list that skips, repeats or forks is refused, and so is one that does not continue
 * what this device has seen.
 */
import { encodeBase64url } from './base64url.ts'
import { hashOf } from './jws.ts'
import { demand, Refusal, type Reason } from './refusal.ts'

/**
 * The highest place seen: `head` is the hash of entry `seq`, 32 bytes. With `heads`, the hash of
 * every entry until then, a fork is known for one also where the other branch is shorter.
 */
export type Known = { seq: number; head: Uint8Array; heads?: readonly Uint8Array[] }

/** `prev` of the entry with seq 0. */
export const NO_PREV = encodeBase64url(new Uint8Array(32))

/** The longest entry, in characters of its JWS. */
const MOST_CHARACTERS = 65_536
/** How many places a log has, and how many of them are kept for the ops that close a matter. */
const PLACES = 100_000
const LAST_PLACES = 1_000

/**
 * Refuses an entry at a place that its log has not, or keeps for other ops.
 * @param takesLast whether the op may take one of the last 1,000 places
 * @throws Refusal `log_full`
 */
export function requirePlace(seq: number, takesLast: boolean): void {
  const places = takesLast ? PLACES : PLACES - LAST_PLACES
  demand(seq < places, 'log_full', `the log takes this op at places below ${places}, not ${seq}`)
}

/**
 * Refuses a list of more entries than a log has places, before any of them is read.
 * @throws Refusal `log_full`
 */
export const requirePlaces = (entries: readonly string[]): void =>
  demand(entries.length <= PLACES, 'log_full', `a log has ${PLACES} places, not ${entries.length}`)

export type Rules<E extends { seq: number; prev: string }, S> = {
  /** Takes one entry apart; throws what breaks a rule without looking at others. */
  read: (jws: string) => E
  /**
   * The state after an entry, from the state before it (none at seq 0); throws if it may not. The
   * state before is not used again, so that what only grows may be added to in place.
   */
  apply: (before: S | undefined, entry: E, hash: Uint8Array) => S
  /** The reason for two valid successors of one `prev`. */
  forked: Reason
}

/**
 * Follows `entries` (each an ASCII JWS) in the order received. Out: the state after the last, and
 * the hash of every entry. Throws `empty`, `log_full`, `too_large`, `gap`, `prev_mismatch`, `duplicate_entry`, the reason
 * of a fork, `rollback`, and what `read` and `apply` throw; the details of a refusal name the
 * entry that was refused.
 */
export function follow<E extends { seq: number; prev: string }, S>(
  entries: readonly string[],
  rules: Rules<E, S>,
  known?: Known,
): { state: S; heads: Uint8Array[] } {
  demand(entries.length > 0, 'empty', 'a log has at least one entry')
  requirePlaces(entries)
  const heads: Uint8Array[] = []
  let state: S | undefined
  for (const [index, jws] of entries.entries()) {
    state = naming(index, () => {
      const fits = jws.length <= MOST_CHARACTERS
      demand(fits, 'too_large', `an entry of ${jws.length} characters, above ${MOST_CHARACTERS}`)
      const entry = rules.read(jws)
      const { seq } = entry
      demand(seq <= index, 'gap', `entry ${index} is missing`)
      const isNew = seq === index || entries[seq] !== jws
      demand(isNew, 'duplicate_entry', `entry ${seq} comes twice`)
      const prev = seq === 0 ? NO_PREV : encodeBase64url(heads[seq - 1]!)
      demand(entry.prev === prev, 'prev_mismatch', `entry ${seq} does not follow the one before`)
      const hash = hashOf(jws)
      if (seq < index) {
        // Only now: an invalid second successor is no fork, it is merely refused.
        rules.apply(stateBefore(seq, entries, heads, rules), entry, hash)
        throw new Refusal(rules.forked, `two entries ${seq}`)
      }
      const after = rules.apply(state, entry, hash)
      const same = isAsSeen(hash, seq, known)
      demand(same, rules.forked, `entry ${seq} was seen before and was another`)
      heads.push(hash)
      return after
    })
  }
  const whole = known === undefined || known.seq < heads.length
  demand(whole, 'rollback', `entry ${known?.seq} was seen before and is missing`)
  return { state: state!, heads }
}

/** What `follow` had when it came to entry `seq`: worked out again, for a fork is rare. */
function stateBefore<E extends { seq: number; prev: string }, S>(
  seq: number,
  entries: readonly string[],
  heads: readonly Uint8Array[],
  { read, apply }: Rules<E, S>,
): S | undefined {
  return entries
    .slice(0, seq)
    .reduce<S | undefined>((before, jws, at) => apply(before, read(jws), heads[at]!), undefined)
}

/** Adds to a refusal which entry it is about. */
function naming<T>(entry: number, attempt: () => T): T {
  try {
    return attempt()
  } catch (error) {
    if (error instanceof Refusal) error.details.entry = entry
    throw error
  }
}

/** Whether the hash of entry `seq` is the one seen there, if any was. */
function isAsSeen(hash: Uint8Array, seq: number, known: Known | undefined): boolean {
  const seen = known?.seq === seq ? known.head : known?.heads?.[seq]
  return seen === undefined || encodeBase64url(seen) === encodeBase64url(hash)
}
