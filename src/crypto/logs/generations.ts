/**
 * Generations of a key log (section 3).
 *
 * Each reset begins a new generation. If the recovery key signs the reset, the new generation is
 * linked to the previous ones.
 */
import { decodeBase64url } from '../encoding/base64url.ts'
import { rawKeys, publicKeyBytes } from '../device-public-keys.ts'
import { labelled, u64be } from '../encoding/hash-input.ts'
import { parseId, ID_PREFIX } from '../encoding/id.ts'
import { isSignature } from '../jose/jws-signature.ts'
import type { RecoveryEntry, ResetEntry } from './key-log-form.ts'
import { requireThat, Refusal } from '../refusal.ts'

export type Generation = {
  /** The seq of the generation's first entry: 0, or the seq of a reset. */
  readonly root: number
  /**
   * The active recovery key; null if there is none. For a generation that has ended, this is its
   * last recovery key.
   */
  recovery: string | null
  /**
   * The first later generation that began with a reset signed by this generation's active key.
   *
   * From then on, the active key of that later generation also counts for this one. Null if there
   * is no such generation.
   */
  successor: number | null
}

/** Oldest first: generation 1 is at index 0. */
export type Generations = readonly Readonly<Generation>[]

/**
 * The recovery keys that signed resets (`recovery_sig`), by the reset's entry hash (base64url).
 *
 * A key is the `x` of its JWK. A reset does not name the key, so finding it again takes up to 255
 * signature checks.
 */
export type Vouchers = ReadonlyMap<string, string>

/** What is known about a reset before it is read. */
type Before = {
  /** Whether the reset was verified earlier. */
  readonly proven: boolean
  /** For a verified reset: the recovery key that was found then, if it is still available. */
  readonly voucher: string | undefined
}

/**
 * Whether generation `to` is linked to generation `from`, both counted from 1.
 *
 * This is the case if they are the same, or if `to` is reached from `from` through successors. A
 * reset that was signed with a replaced recovery key links to no generation.
 */
export function isLinked(
  { generations }: { readonly generations: Generations },
  from: number,
  to: number,
): boolean {
  let at: number | null = from
  while (at !== null && at < to) at = generations[at - 1]?.successor ?? null
  return at === to
}

/** Returns the newest generation that is linked to generation `from`, counted from 1. */
function newestLinked(generations: Generations, from: number): number {
  let at = from
  for (let next = generations[at - 1]?.successor; next; next = generations[at - 1]?.successor)
    at = next
  return at
}

/**
 * Whether the account was reset without using an active recovery key.
 *
 * That is the case if the newest generation is not linked to generation `from`, although the newest
 * generation that is linked to it has an active key.
 */
export function isKeyUnused(generations: Generations, from: number): boolean {
  const at = newestLinked(generations, from)
  return at < generations.length && (generations[at - 1]?.recovery ?? null) !== null
}

/**
 * Returns the resets that led to the newest generation without using an active recovery key.
 *
 * A later reset with that key removes the resets before it from the list.
 * @returns the seqs of the resets, oldest first
 */
export function resetsWithoutKey(generations: Generations): number[] {
  const resets: number[] = []
  for (let from = 1; ;) {
    const last = newestLinked(generations, from)
    const next = generations[last]
    if (next === undefined) return resets
    if (isKeyUnused(generations, from)) resets.push(next.root)
    from = last + 1
  }
}

/**
 * Returns the recovery keys that would link a reset made now, newest first.
 *
 * They are the active keys of generations without a successor, as the `x` of their JWK. Replaced
 * keys are not included.
 */
export const linkingKeys = (generations: Generations): string[] => [
  ...new Set(
    generations
      .filter(({ successor }) => successor === null)
      .flatMap(({ recovery }) => (recovery === null ? [] : [recovery]))
      .toReversed(),
  ),
]

/** Returns the newest generation's active recovery key as the `x` of its JWK, or null. */
export const keyInForce = (generations: Generations): string | null =>
  generations.at(-1)?.recovery ?? null

/** The maximum number of generations, and how many of them only a recovery key can begin. */
const MOST_GENERATIONS = 256
const LAST_GENERATIONS = 16

/**
 * Adds the generation that a reset begins. Yields after each recovery key that was tried.
 * @returns the recovery key that made the reset's `recovery_sig`; null if the reset has none
 * @throws Refusal `bad_recovery_sig` if no generation's active key made the signature; `log_full`
 * if the log has the maximum number of generations, or if the rest is reserved for another recovery
 * key
 */
export function* addGeneration(
  generations: Generation[],
  entry: ResetEntry,
  before: Before,
): Generator<void, string | null, void> {
  const next = generations.length + 1
  const most = `a log has at most ${MOST_GENERATIONS} generations`
  requireThat(next <= MOST_GENERATIONS, 'log_full', most)
  const recovery =
    entry.recovery_sig === undefined ? null : yield* vouchingKey(generations, entry, before)
  const isTaken = next <= MOST_GENERATIONS - LAST_GENERATIONS || mayTakeLast(generations, recovery)
  const limits = `${most}, the last ${LAST_GENERATIONS} of them for resets with the recovery key`
  requireThat(isTaken, 'log_full', limits)
  if (recovery !== null) {
    for (const one of generations) {
      if (one.recovery === recovery) one.successor ??= next
    }
  }
  generations.push({ root: entry.seq, recovery, successor: null })
  return recovery
}

/**
 * Whether a reset that `recovery` signed may begin one of the last generations.
 *
 * The newest generation that is linked to the first one may have an active key. If it has one, the
 * reset must be signed with that key. A thief who resets the account without the key can name a new
 * key only in a generation that is not linked.
 */
function mayTakeLast(generations: Generations, recovery: string | null): boolean {
  const own = generations[newestLinked(generations, 1) - 1]?.recovery ?? null
  return recovery !== null && (own === null || own === recovery)
}

/**
 * Activates the recovery key that an entry names.
 * @param proven whether the entry was verified earlier
 * @throws Refusal `missing_recovery_sig` and `bad_recovery_sig` if another key was active,
 * `superfluous_member` if the entry has a signature although no key was active
 */
export function replaceRecoveryKey(
  generations: Generation[],
  entry: RecoveryEntry,
  proven: boolean,
): void {
  const { recovery_sig: signature } = entry
  const inForce = keyInForce(generations)
  if (inForce === null) {
    const absent = signature === undefined
    requireThat(
      absent,
      'superfluous_member',
      'there is a recovery_sig, but no recovery key is in force',
    )
  } else {
    const message = 'the recovery key in force has not signed the new recovery key'
    requireThat(signature !== undefined, 'missing_recovery_sig', message)
    requireThat(proven || isVouchedFor(entry, signature, inForce), 'bad_recovery_sig', message)
  }
  generations.at(-1)!.recovery = entry.key.x
}

/**
 * The keys that made recovery signatures, by signature.
 *
 * If a log is read again without stored vouchers, these keys are tried first.
 */
const firstTries = new Map<string, string>()
const MOST_FIRST_TRIES = 8192

function tryFirst(signature: string, key: string): void {
  // Remove the oldest entry.
  if (firstTries.size === MOST_FIRST_TRIES) firstTries.delete(firstTries.keys().next().value!)
  firstTries.set(signature, key)
}

/** Finds the active key, of any generation, that signed a reset. Yields after each try. */
function* vouchingKey(
  generations: Generations,
  entry: ResetEntry,
  { proven, voucher }: Before,
): Generator<void, string, void> {
  const signature = entry.recovery_sig!
  const inForce = generations.map(({ recovery }) => recovery).filter((key) => key !== null)
  if (proven && voucher !== undefined && inForce.includes(voucher)) return voucher
  const before = firstTries.get(signature)
  const first = before !== undefined && inForce.includes(before) ? [before] : []
  const keys = [...new Set([...first, ...inForce.toReversed()])]
  for (const [at, key] of keys.entries()) {
    // One of the keys made a signature that was verified earlier. If no other key did, the last one
    // did.
    const isLast = proven && at === keys.length - 1
    if (isLast || isVouchedFor(entry, signature, key)) {
      tryFirst(signature, key)
      return key
    }
    yield
  }
  throw new Refusal('bad_recovery_sig', 'no recovery key in force has signed this reset')
}

const isVouchedFor = (entry: ResetEntry | RecoveryEntry, signature: string, key: string): boolean =>
  isSignature(decodeBase64url(signature), recoveryInput(entry), decodeBase64url(key))

/** The members of an entry that a recovery key signs. */
export type Vouched =
  | Pick<ResetEntry, 'op' | 'account' | 'seq' | 'prev' | 'device' | 'keys'>
  | Pick<RecoveryEntry, 'op' | 'account' | 'seq' | 'prev' | 'key'>

/**
 * Returns the bytes that `recovery_sig` signs: the entry's place in the log, and the keys it names.
 */
export function recoveryInput(entry: Vouched): Uint8Array {
  const op = entry.op === 'reset' ? 1 : 2
  const body =
    entry.op === 'reset'
      ? [parseId(ID_PREFIX.device, entry.device), publicKeyBytes(rawKeys(entry.keys))]
      : [decodeBase64url(entry.key.x)]
  return labelled(
    'countersign/v2/recovery-sig',
    Uint8Array.of(op),
    parseId(ID_PREFIX.account, entry.account),
    u64be(entry.seq),
    decodeBase64url(entry.prev),
    ...body,
  )
}
