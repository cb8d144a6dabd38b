/**
 * Generations of a key log (section 3). Each reset begins one. The recovery key can vouch for a
 * reset, and links the new generation to those before it.
 */
import { decodeBase64url } from '../encoding/base64url.ts'
import { rawKeys, publicKeyBytes } from '../device-public-keys.ts'
import { labelled, u64be } from '../encoding/hash-input.ts'
import { parseId, ID_PREFIX } from '../encoding/id.ts'
import { isSignature } from '../jose/jws-signature.ts'
import type { RecoveryEntry, ResetEntry } from './key-log-form.ts'
import { requireThat, Refusal } from '../refusal.ts'

export type Generation = {
  /** The number of its first entry: 0, or a reset. */
  readonly root: number
  /** The recovery key in force, or null; for a generation that ended, the last one. */
  recovery: string | null
  /**
   * The first later generation that began with a reset signed by the key in force here, or null.
   * From then on that generation's key is in force for this one.
   */
  successor: number | null
}

/** Oldest first. Generation 1 is at index 0. */
export type Generations = readonly Readonly<Generation>[]

/**
 * The recovery keys that made the `recovery_sig` of resets, by the hash of the reset (base64url).
 * A key is `x` of its JWK. A reset does not name it, so finding it takes up to 255 signature
 * checks.
 */
export type Vouchers = ReadonlyMap<string, string>

/** The data about a reset that is available before it is read. */
type Before = {
  /** Whether it was verified before. */
  readonly proven: boolean
  /** For a verified reset: the recovery key found then, if it is still available. */
  readonly voucher: string | undefined
}

/**
 * Whether generation `to` is linked to generation `from`; both count from 1. It is the same one,
 * or reached over successors. A reset that was made with a replaced key links to nothing.
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
 * Whether the account was reset without using a recovery key that was in force. The newest
 * generation is not linked to generation `from` then, although a key was in force in the newest
 * linked one.
 */
export function isKeyUnused(generations: Generations, from: number): boolean {
  const at = newestLinked(generations, from)
  return at < generations.length && (generations[at - 1]?.recovery ?? null) !== null
}

/**
 * Returns the resets that led to the newest generation without using a recovery key that was in
 * force. A reset with that key removes those before it from the list.
 * @returns the numbers of their entries, oldest first
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
 * Returns the keys with which a reset would be linked now, newest first, as `x` of their JWK.
 * They are in force in a generation that has no successor. A replaced key is not among them.
 */
export const linkingKeys = (generations: Generations): string[] => [
  ...new Set(
    generations
      .filter(({ successor }) => successor === null)
      .flatMap(({ recovery }) => (recovery === null ? [] : [recovery]))
      .toReversed(),
  ),
]

/** Returns the recovery key in force in the newest generation: `x` of its JWK, or null. */
export const keyInForce = (generations: Generations): string | null =>
  generations.at(-1)?.recovery ?? null

/**
 * The largest number of generations, and how many of them are reserved for resets by a recovery
 * key.
 */
const MOST_GENERATIONS = 256
const LAST_GENERATIONS = 16

/**
 * Adds the generation that a reset begins; yields after each recovery key tried.
 * @returns the recovery key that made its `recovery_sig`; null for a reset without one
 * @throws Refusal `bad_recovery_sig` for a signature under no generation's key in force;
 *   `log_full` if the log has all its generations, or reserves the rest for another recovery key
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
  const kept = `${most}, the last ${LAST_GENERATIONS} of them for resets with the recovery key`
  requireThat(isTaken, 'log_full', kept)
  if (recovery !== null) {
    for (const one of generations) {
      if (one.recovery === recovery) one.successor ??= next
    }
  }
  generations.push({ root: entry.seq, recovery, successor: null })
  return recovery
}

/**
 * Whether a reset by a recovery key may begin one of the last generations. If a key is in force
 * in the newest generation linked to the first, it must be that one: a thief who resets the
 * account without it can name a key only in a generation that is not linked.
 */
function mayTakeLast(generations: Generations, recovery: string | null): boolean {
  const own = generations[newestLinked(generations, 1) - 1]?.recovery ?? null
  return recovery !== null && (own === null || own === recovery)
}

/**
 * Puts the recovery key in force that an entry names.
 * @param proven whether the entry was verified before
 * @throws Refusal `missing_recovery_sig` and `bad_recovery_sig` if a key is in force,
 *   `superfluous_member` for a signature if none is
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
    const message = 'the recovery key in force does not vouch for the new one'
    requireThat(signature !== undefined, 'missing_recovery_sig', message)
    requireThat(proven || isVouchedFor(entry, signature, inForce), 'bad_recovery_sig', message)
  }
  generations.at(-1)!.recovery = entry.key.x
}

/**
 * The keys that made recovery signatures, by the signature. They are tried first when a log
 * without stored vouchers is read again.
 */
const firstTries = new Map<string, string>()
const MOST_FIRST_TRIES = 8192

function tryFirst(signature: string, key: string): void {
  // The oldest is dropped.
  if (firstTries.size === MOST_FIRST_TRIES) firstTries.delete(firstTries.keys().next().value!)
  firstTries.set(signature, key)
}

/**
 * Finds the key in force in some generation that made the signature of a reset; yields after each
 * try.
 */
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
    // One of the keys made a proven signature: if no other did, the last one did.
    const isLast = proven && at === keys.length - 1
    if (isLast || isVouchedFor(entry, signature, key)) {
      tryFirst(signature, key)
      return key
    }
    yield
  }
  throw new Refusal('bad_recovery_sig', 'no recovery key in force vouches for this reset')
}

const isVouchedFor = (entry: ResetEntry | RecoveryEntry, signature: string, key: string): boolean =>
  isSignature(decodeBase64url(signature), recoveryInput(entry), decodeBase64url(key))

/** The parts of an entry that a recovery key signs. */
export type Vouched =
  | Pick<ResetEntry, 'op' | 'account' | 'seq' | 'prev' | 'device' | 'keys'>
  | Pick<RecoveryEntry, 'op' | 'account' | 'seq' | 'prev' | 'key'>

/** Returns the bytes that `recovery_sig` signs: the entry's place, and the keys that it names. */
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
