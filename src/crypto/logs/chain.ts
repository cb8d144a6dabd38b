/**
 * The rules that the key log and the roster share.
 *
 * Entries are numbered from 0, and each contains the hash of the previous entry. A list is rejected
 * if it skips, repeats or forks entries, or if it does not continue the log that this device
 * verified earlier.
 */
import { encodeBase64url } from '../encoding/base64url.ts'
import { entryHash } from '../jose/jws.ts'
import { requireThat, Refusal, type RefusalReason } from '../refusal.ts'

/**
 * The newest place that was verified earlier: `head` is the hash of entry `seq` (32 bytes).
 *
 * Each entry contains the hash of the previous one, so `head` covers all entries up to `seq`, and
 * their signatures are not verified again. `heads` are the hashes of all these entries. With
 * `heads`, a fork is reported as a fork even if the other branch is shorter.
 */
export type KnownPlace = { seq: number; head: Uint8Array; heads?: readonly Uint8Array[] }

/**
 * Returns the place of the last entry; undefined if there is none.
 *
 * All of `entries` must have been verified.
 */
export function lastPlace(entries: readonly string[]): KnownPlace | undefined {
  const last = entries.at(-1)
  return last === undefined ? undefined : { seq: entries.length - 1, head: entryHash(last) }
}

/** The value of `prev` in the entry with seq 0. */
export const NO_PREV = encodeBase64url(new Uint8Array(32))

/** The maximum length of an entry, in characters of its JWS. */
const MOST_CHARACTERS = 65_536
/**
 * The maximum number of entries in a log, and how many of them are reserved for ops that end
 * access.
 */
const PLACES = 100_000
const LAST_PLACES = 1_000

/**
 * Throws if a log has no place `seq`, or if the place is reserved for other ops.
 * @param takesLast whether the op may use one of the last 1,000 places
 * @throws Refusal `log_full`
 */
export function requirePlace(seq: number, takesLast: boolean): void {
  const places = takesLast ? PLACES : PLACES - LAST_PLACES
  requireThat(
    seq < places,
    'log_full',
    `the log accepts this op only at places below ${places}, not at place ${seq}`,
  )
}

/**
 * Throws if a list has more entries than a log can have. No entry is read.
 * @throws Refusal `log_full`
 */
export const requirePlaces = (entries: readonly string[]): void =>
  requireThat(
    entries.length <= PLACES,
    'log_full',
    `a log has at most ${PLACES} entries, not ${entries.length}`,
  )

type Rules<E extends { seq: number; prev: string }, S> = {
  /**
   * Parses one entry and checks every rule that needs no other entry.
   * @param proven whether this entry was verified earlier, so that no curve point in it has to be
   * checked
   */
  read: (jws: string, proven: boolean) => E
  /**
   * Returns the state after an entry, given the state before it (undefined at seq 0).
   *
   * Throws if the entry is not allowed. It may change collections of the previous state in
   * place, so the caller must not use that state again. Yields between long steps.
   * @param proven whether this entry was verified earlier, and needs no check of its signatures
   */
  apply: (
    before: S | undefined,
    entry: E,
    hash: Uint8Array,
    proven: boolean,
  ) => Generator<void, S, void>
  /** The reason to report if one `prev` has two valid successors. */
  forked: RefusalReason
}

type Followed<S> = { state: S; heads: Uint8Array[] }

/** Runs a verification without interruption and returns its result. */
export function runToEnd<T>(steps: Generator<void, T, void>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/**
 * Verifies entries (ASCII JWSs) in the order received.
 *
 * Yields after each entry, so that the caller can let other work run. The signatures of entries up
 * to `known` are not verified again: if entry `known.seq` has the hash `known.head`, the chain of
 * `prev` proves that all earlier entries are the same ones that were verified then.
 * @returns the state after the last entry, and the hash of every entry
 * @throws Refusal `empty`, `log_full`, `too_large`, `gap`, `prev_mismatch`, `duplicate_entry`, the
 * reason of a fork, `rollback`, and as `read` and `apply`; the details of a refusal name the
 * rejected entry
 */
export function* follow<E extends { seq: number; prev: string }, S>(
  entries: readonly string[],
  rules: Rules<E, S>,
  known?: KnownPlace,
): Generator<void, Followed<S>, void> {
  requireThat(entries.length > 0, 'empty', 'a log must have at least one entry')
  requirePlaces(entries)
  const heads: Uint8Array[] = []
  try {
    return yield* walk(entries, rules, known, known?.seq ?? -1, heads)
  } catch (error) {
    const isProven = known === undefined || heads.length > known.seq
    if (isProven || !(error instanceof Refusal)) throw error
  }
  // The list failed before it reached `known`, so none of its entries is proven. Verify it again
  // without `known`.
  return yield* walk(entries, rules, known, -1, [])
}

/** Like `follow`. Entries up to place `verified` count as verified earlier. Fills `heads`. */
function* walk<E extends { seq: number; prev: string }, S>(
  entries: readonly string[],
  rules: Rules<E, S>,
  known: KnownPlace | undefined,
  verified: number,
  heads: Uint8Array[],
): Generator<void, Followed<S>, void> {
  let state: S | undefined
  for (const [index, jws] of entries.entries()) {
    try {
      const proven = index <= verified
      const fits = jws.length <= MOST_CHARACTERS
      requireThat(
        fits,
        'too_large',
        `the entry has ${jws.length} characters; at most ${MOST_CHARACTERS} are allowed`,
      )
      const entry = rules.read(jws, proven)
      const { seq } = entry
      requireThat(seq <= index, 'gap', `entry ${index} is missing`)
      const isNew = seq === index || entries[seq] !== jws
      requireThat(isNew, 'duplicate_entry', `entry ${seq} occurs twice`)
      const prev = seq === 0 ? NO_PREV : encodeBase64url(heads[seq - 1]!)
      requireThat(
        entry.prev === prev,
        'prev_mismatch',
        `entry ${seq} does not follow from the previous entry`,
      )
      const hash = entryHash(jws)
      if (seq < index) {
        // A fork is reported only if the second successor is valid. An invalid entry must be
        // rejected for its own fault.
        const before = yield* stateBefore(seq, entries, heads, rules)
        yield* rules.apply(before, entry, hash, proven)
        throw new Refusal(rules.forked, `there are two different entries ${seq}`)
      }
      state = yield* rules.apply(state, entry, hash, proven)
      const same = isAsSeen(hash, seq, known)
      requireThat(same, rules.forked, `entry ${seq} differs from the one seen before`)
      heads.push(hash)
    } catch (error) {
      if (error instanceof Refusal) error.details.entry = index
      throw error
    }
    yield
  }
  const whole = known === undefined || known.seq < heads.length
  requireThat(whole, 'rollback', `entry ${known?.seq} was seen before and is missing`)
  return { state: state!, heads }
}

/**
 * Returns the state that `walk` had before entry `seq`.
 *
 * The state is computed again from the accepted entries, because a fork is rare.
 */
function* stateBefore<E extends { seq: number; prev: string }, S>(
  seq: number,
  entries: readonly string[],
  heads: readonly Uint8Array[],
  { read, apply }: Rules<E, S>,
): Generator<void, S | undefined, void> {
  let state: S | undefined
  for (const [at, jws] of entries.slice(0, seq).entries()) {
    state = yield* apply(state, read(jws, true), heads[at]!, true)
    yield
  }
  return state
}

/**
 * Whether the hash of entry `seq` equals the hash that was seen there earlier, if there was one.
 */
function isAsSeen(hash: Uint8Array, seq: number, known: KnownPlace | undefined): boolean {
  const seen = known?.seq === seq ? known.head : known?.heads?.[seq]
  return seen === undefined || encodeBase64url(seen) === encodeBase64url(hash)
}
