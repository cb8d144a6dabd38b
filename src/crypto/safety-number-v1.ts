/**
 * The safety number of two accounts (section 3): the same on both sides as long as both hold the
 * same key logs, so that two people who compare it notice a server that showed them other keys.
 */
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { parseId, PREFIX } from './id.ts'
import { demand } from './refusal.ts'

/** How many SHA-256 in all: what makes finding keys of nearly the same number dear. */
const ROUNDS = 5200
const GROUPS = 12

/** An account's id, and the hash of the last entry of its verified key log, 32 bytes. */
export type LogHead = { account: string; head: Uint8Array }

/**
 * The safety number of two accounts, whichever is named first: 12 groups of five digits with
 * single spaces between them. Throws what `parseId` throws, and `bad_length` for a head.
 */
export function safetyNumber(a: LogHead, b: LogHead): string {
  const [lower, higher] = [rawOf(a), rawOf(b)].sort(byBytes) as [Uint8Array, Uint8Array]
  const label = utf8ToBytes('countersign/v1/safety')
  let digest = sha256(concatBytes(label, Uint8Array.of(0), lower, higher))
  for (let round = 1; round < ROUNDS; round++) digest = sha256(digest)
  const wide = sha512(digest)
  return Array.from({ length: GROUPS }, (_, group) => fiveDigits(wide, 5 * group)).join(' ')
}

/** Begins with the 16 bytes of the id, by which two accounts are in order. */
function rawOf({ account, head }: LogHead): Uint8Array {
  demand(head.length === 32, 'bad_length', 'a head is 32 bytes')
  return concatBytes(parseId(PREFIX.account, account), head)
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
