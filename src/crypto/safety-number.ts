/**
 * The safety number of two accounts (section 3).
 *
 * Both sides compute the same number if both have the same root of each account's newest
 * generation. Two people who compare the number therefore detect a server that gave them different
 * keys. Renewed keys and additional devices do not change the number; a reset does.
 */
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { labelled, requireLength } from './encoding/hash-input.ts'
import { parseId, ID_PREFIX } from './encoding/id.ts'
import { generationRoot, type KeyLog } from './logs/key-log.ts'

/**
 * The number of SHA-256 rounds. They make it expensive to search for keys with a similar number.
 */
const ROUNDS = 5200
const GROUPS = 12

/** An account id, and the root of the newest generation in the verified key log (32 bytes). */
type Rooted = { readonly account: string; readonly root: Uint8Array }

/** Returns the account and root of a verified key log. */
export const rootOf = (log: KeyLog): Rooted => ({
  account: log.account,
  root: generationRoot(log, log.generation).hash,
})

/**
 * Returns the safety number of two accounts: 12 groups of five digits, separated by spaces.
 *
 * The order of the accounts does not matter.
 * @throws Refusal as `parseId`; `bad_length` for a root
 */
export function safetyNumber(a: Rooted, b: Rooted): string {
  const [lower, higher] = [rawOf(a), rawOf(b)].sort(byBytes) as [Uint8Array, Uint8Array]
  let digest = sha256(labelled('countersign/v2/safety', lower, higher))
  for (let round = 1; round < ROUNDS; round++) digest = sha256(digest)
  const wide = sha512(digest)
  return Array.from({ length: GROUPS }, (_, group) => fiveDigits(wide, 5 * group)).join(' ')
}

/** Returns the id (16 bytes) and the root. The id comes first because accounts are sorted by it. */
function rawOf({ account, root }: Rooted): Uint8Array {
  requireLength(root, 32, 'a root')
  return concatBytes(parseId(ID_PREFIX.account, account), root)
}

function byBytes(one: Uint8Array, other: Uint8Array): number {
  const differing = one.findIndex((byte, at) => byte !== other[at])
  return differing === -1 ? 0 : one[differing]! - other[differing]!
}

/**
 * Returns five bytes as a big-endian number modulo 100000, padded to five digits.
 *
 * The five bytes are below 2^40, so a JavaScript number represents them exactly.
 */
function fiveDigits(bytes: Uint8Array, from: number): string {
  const value = bytes.subarray(from, from + 5).reduce((sum, byte) => sum * 256 + byte, 0)
  return String(value % 100_000).padStart(5, '0')
}
