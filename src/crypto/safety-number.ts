/**
 * The safety number of two accounts (section 5): the same on both sides as long as both hold the
 * same roots of the newest generation, so that two people who compare it notice a server that showed
 * them other keys. Renewals and further devices do not change it; a reset does.
 */
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { labelled, requireLength } from './encoding/hash-input.ts'
import { parseId, PREFIX } from './encoding/id.ts'
import { generationRoot, type KeyLog } from './logs/key-log.ts'

/** How many SHA-256 in all: what makes finding keys of nearly the same number dear. */
const ROUNDS = 5200
const GROUPS = 12

/** An account's id, and the root of the newest generation of its verified key log, 32 bytes. */
export type Rooted = { readonly account: string; readonly root: Uint8Array }

/** An account as its key log, verified, has it. */
export const rootOf = (log: KeyLog): Rooted => ({
  account: log.account,
  root: generationRoot(log, log.generation).hash,
})

/**
 * The safety number of two accounts, whichever is named first: 12 groups of five digits with
 * single spaces between them.
 * @throws Refusal what `parseId` throws, `bad_length` for a root
 */
export function safetyNumber(a: Rooted, b: Rooted): string {
  const [lower, higher] = [rawOf(a), rawOf(b)].sort(byBytes) as [Uint8Array, Uint8Array]
  let digest = sha256(labelled('countersign/v2/safety', lower, higher))
  for (let round = 1; round < ROUNDS; round++) digest = sha256(digest)
  const wide = sha512(digest)
  return Array.from({ length: GROUPS }, (_, group) => fiveDigits(wide, 5 * group)).join(' ')
}

/** Begins with the 16 bytes of the id, by which two accounts are in order. */
function rawOf({ account, root }: Rooted): Uint8Array {
  requireLength(root, 32, 'a root')
  return concatBytes(parseId(PREFIX.account, account), root)
}

function byBytes(one: Uint8Array, other: Uint8Array): number {
  const differing = one.findIndex((byte, at) => byte !== other[at])
  return differing === -1 ? 0 : one[differing]! - other[differing]!
}

/** Five bytes, big-endian, modulo 100000. They are below 2^40, so a number holds them. */
function fiveDigits(bytes: Uint8Array, from: number): string {
  const value = bytes.subarray(from, from + 5).reduce((sum, byte) => sum * 256 + byte, 0)
  return String(value % 100_000).padStart(5, '0')
}
