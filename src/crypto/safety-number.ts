/**
 * The safety number of two accounts (section 3). It is equal on both sides as long as both have
 * the same roots of the newest generation, so that two people who compare it detect a server that
 * gave them other keys. Renewals and additional devices do not change it; a reset does.
 */
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { labelled, requireLength } from './encoding/hash-input.ts'
import { parseId, ID_PREFIX } from './encoding/id.ts'
import { generationRoot, type KeyLog } from './logs/key-log.ts'

/**
 * The number of SHA-256 rounds. They make it expensive to find keys with nearly the same number.
 */
const ROUNDS = 5200
const GROUPS = 12

/** An account's id, and the root of the newest generation of its verified key log, 32 bytes. */
type Rooted = { readonly account: string; readonly root: Uint8Array }

/** Returns the account and root of a verified key log. */
export const rootOf = (log: KeyLog): Rooted => ({
  account: log.account,
  root: generationRoot(log, log.generation).hash,
})

/**
 * Returns the safety number of two accounts in either order. It has 12 groups of five digits with
 * single spaces between them.
 * @throws Refusal as `parseId`; `bad_length` for a root
 */
export function safetyNumber(a: Rooted, b: Rooted): string {
  const [lower, higher] = [rawOf(a), rawOf(b)].sort(byBytes) as [Uint8Array, Uint8Array]
  let digest = sha256(labelled('countersign/v2/safety', lower, higher))
  for (let round = 1; round < ROUNDS; round++) digest = sha256(digest)
  const wide = sha512(digest)
  return Array.from({ length: GROUPS }, (_, group) => fiveDigits(wide, 5 * group)).join(' ')
}

/** Begins with the 16 bytes of the id, by which two accounts are sorted. */
function rawOf({ account, root }: Rooted): Uint8Array {
  requireLength(root, 32, 'a root')
  return concatBytes(parseId(ID_PREFIX.account, account), root)
}

function byBytes(one: Uint8Array, other: Uint8Array): number {
  const differing = one.findIndex((byte, at) => byte !== other[at])
  return differing === -1 ? 0 : one[differing]! - other[differing]!
}

/**
 * Returns five bytes, big-endian, modulo 100000. They are below 2^40, so a number can hold them.
 */
function fiveDigits(bytes: Uint8Array, from: number): string {
  const value = bytes.subarray(from, from + 5).reduce((sum, byte) => sum * 256 + byte, 0)
  return String(value % 100_000).padStart(5, '0')
}
