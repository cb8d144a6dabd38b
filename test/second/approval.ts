/** Section 3: approving a further device. */
import type { PublicKeys } from './account-id.ts'
import { type Bytes, concat, label, need, Refused, same, sha256, u64be } from './bytes.ts'
import type { Known } from './chain.ts'
import { generationAt, newest, verifyKeyLog } from './key-log.ts'
import { indicesOf, parseWords, wordsOf } from './words.ts'

export interface Newcomer extends PublicKeys {
  readonly account: Bytes
  readonly device: Bytes
}

const identity = (of: Newcomer): Bytes => concat(of.account, of.device, of.sign, of.seal, of.auth)

/** Returns C of step 1. */
export const commitment = (of: Newcomer, nN: Bytes): Bytes =>
  sha256(label('countersign/v2/approve'), identity(of), nN)

/**
 * Checks the reveal of step 3.
 * @throws Refused `commitment_mismatch`
 */
export function checkReveal(committed: Bytes, of: Newcomer, nN: Bytes): void {
  need(same(committed, commitment(of, nN)), 'commitment_mismatch')
}

/** Returns T of step 4, with the log of the old device up to `seq`. */
export const transcript = (of: Newcomer, seq: number, head: Bytes, nN: Bytes, nO: Bytes): Bytes =>
  sha256(label('countersign/v2/sas'), identity(of), u64be(seq), head, nN, nO)

/** Returns words 1-4, which N shows, and 5-8, which O shows. */
export const shown = (T: Bytes): { new_shows: string[]; old_shows: string[] } => ({
  new_shows: wordsOf(indicesOf(T, 4)),
  old_shows: wordsOf(indicesOf(T, 4, 4)),
})

/** Returns whether the words typed into a device are those that the other one shows. */
export function typedFits(T: Bytes, side: 'O' | 'N', input: string): boolean {
  try {
    const wanted = side === 'O' ? shown(T).new_shows : shown(T).old_shows
    return parseWords(input, 4).words.join(' ') === wanted.join(' ')
  } catch (error) {
    if (error instanceof Refused) return false
    throw error
  }
}

/**
 * Checks the new device’s own entry (step 5); returns its place.
 * @throws Refused with a reason of the kit
 */
export function checkOwn(
  account: string,
  texts: readonly string[],
  seen: Known,
  device: string,
  keys: PublicKeys,
): number {
  const log = verifyKeyLog(account, texts, seen)
  const own = newest(log).devices.get(device)
  if (own === undefined) throw new Refused('not_in_log')
  const fits = same(own.sign, keys.sign) && same(own.seals[0]!, keys.seal)
  need(fits && same(own.auth, keys.auth), 'own_keys_differ')
  need(own.addedAt > seen.seq, 'added_before')
  need(own.addedBy === 'add', 'generation_changed')
  need(generationAt(log, own.addedAt) === generationAt(log, seen.seq), 'generation_changed')
  need(own.revokedAt === null, 'not_active')
  return own.addedAt
}
