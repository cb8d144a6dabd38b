/**
 * The rules shared by the key log and the roster. Entries are numbered from 0, each with the hash
 * of the one before. A list that skips, repeats or forks is rejected, and so is one that does not
 * continue the log that this device verified before.
 */
import { encodeBase64url } from '../encoding/base64url.ts'
import { entryHash } from '../jose/jws.ts'
import { requireThat, Refusal, type RefusalReason } from '../refusal.ts'

/**
 * The highest place verified before: `head` is the hash of entry `seq`, 32 bytes. Each entry
 * names the hash of the one before, so `head` covers all entries up to it, and their signatures
 * are not verified again. With `heads`, the hash of every entry until then, a fork is recognised
 * as a fork even if the other branch is shorter.
 */
export type KnownPlace = { seq: number; head: Uint8Array; heads?: readonly Uint8Array[] }

/**
 * Returns the place of the last of `entries`, all of them verified before; undefined for none.
 */
export function lastPlace(entries: readonly string[]): KnownPlace | undefined {
  const last = entries.at(-1)
  return last === undefined ? undefined : { seq: entries.length - 1, head: entryHash(last) }
}

/** `prev` of the entry with seq 0. */
export const NO_PREV = encodeBase64url(new Uint8Array(32))

/** The longest entry, in characters of its JWS. */
const MOST_CHARACTERS = 65_536
/**
 * The number of places in a log, and how many of them are reserved for the ops that end access.
 */
const PLACES = 100_000
const LAST_PLACES = 1_000

/**
 * Throws for an entry at a place that its log lacks, or reserves for other ops.
 * @param takesLast whether the op may take one of the last 1,000 places
 * @throws Refusal `log_full`
 */
export function requirePlace(seq: number, takesLast: boolean): void {
  const places = takesLast ? PLACES : PLACES - LAST_PLACES
  requireThat(
    seq < places,
    'log_full',
    `the log accepts this op only below place ${places}, not at ${seq}`,
  )
}

/**
 * Throws for a list of more entries than a log has places, before any of them is read.
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
   * Parses one entry; throws for each rule that needs no other entry.
   * @param proven whether this entry was verified before, so that no curve point in it needs to
   *   be checked
   */
  read: (jws: string, proven: boolean) => E
  /**
   * Returns the state after an entry, from the state before it (none at seq 0). Throws if the
   * entry is not allowed. The previous state is not used again, so collections that only grow may
   * be extended in place. Yields between long steps.
   * @param proven whether this entry was verified before, so that its signatures are good
   */
  apply: (
    before: S | undefined,
    entry: E,
    hash: Uint8Array,
    proven: boolean,
  ) => Generator<void, S, void>
  /** The reason for two valid successors of one `prev`. */
  forked: RefusalReason
}

type Followed<S> = { state: S; heads: Uint8Array[] }

/** Runs a verification to its end and returns its result. */
export function runToEnd<T>(steps: Generator<void, T, void>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/**
 * Verifies `entries` (each an ASCII JWS) in the order received. Yields after each, so that a
 * caller can let other work run between them. The signatures of entries up to `known` are not
 * verified again: if entry `known.seq` has the hash `known.head`, the chain of `prev` proves that
 * all entries up to it are those verified then.
 * @returns the state after the last entry, and the hash of every entry
 * @throws Refusal `empty`, `log_full`, `too_large`, `gap`, `prev_mismatch`, `duplicate_entry`,
 *   the reason of a fork, `rollback`, and as `read` and `apply`; the details of a refusal name
 *   the rejected entry
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
  // The list did not reach `known`, so nothing in it is proven: verify it again without `known`.
  return yield* walk(entries, rules, known, -1, [])
}

/** Like `follow`. Treats the entries up to place `verified` as verified before; fills `heads`. */
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
        // Only now: an invalid second successor is no fork, and is rejected for its own fault.
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
 * Returns the state in which `walk` reached entry `seq`, from entries that it accepted. It is
 * computed again, since a fork is rare.
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

/** Whether the hash of entry `seq` equals the one seen there, if any was. */
function isAsSeen(hash: Uint8Array, seq: number, known: KnownPlace | undefined): boolean {
  const seen = known?.seq === seq ? known.head : known?.heads?.[seq]
  return seen === undefined || encodeBase64url(seen) === encodeBase64url(hash)
}
