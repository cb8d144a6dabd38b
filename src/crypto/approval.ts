/**
 * The words by which a further device of an account is approved (section 3). Each side types what
 * the other shows, so that neither takes a key on the server's word: the old device learns that
 * these are the newcomer's keys, the new one that this is the log it was added to.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { DeviceJwks } from './device-keys-v1.ts'
import { parseId, PREFIX } from './id.ts'
import { jwkBytes } from './jwk.ts'
import { demand } from './refusal.ts'
import { firstIndices, wordsAt } from './words.ts'

/** 72 bits: nobody finds other keys with the same words while somebody reads them off. */
const COUNT = 6

/**
 * The six words that a new device shows and that are typed into an old one, which computes them
 * from the keys that the server handed it. Throws what `parseId` and `jwkBytes` throw.
 */
export function deviceWords(of: { account: string; device: string; keys: DeviceJwks }): string[] {
  return wordsOf(
    'countersign/v1/device',
    parseId(PREFIX.account, of.account),
    parseId(PREFIX.device, of.device),
    jwkBytes(of.keys.sign, 'Ed25519'),
    jwkBytes(of.keys.seal, 'X25519'),
    jwkBytes(of.keys.auth, 'Ed25519'),
  )
}

/**
 * The six words that an old device shows and that are typed into the new one. `head` is the hash
 * of the last entry, 32 bytes, of the verified log that includes the newcomer. Throws what
 * `parseId` throws and `bad_length`.
 */
export function logWords(of: { account: string; head: Uint8Array }): string[] {
  demand(of.head.length === 32, 'bad_length', 'a head is 32 bytes')
  return wordsOf('countersign/v1/log', parseId(PREFIX.account, of.account), of.head)
}

function wordsOf(label: string, ...parts: Uint8Array[]): string[] {
  const hash = sha256(concatBytes(utf8ToBytes(label), Uint8Array.of(0), ...parts))
  return wordsAt(firstIndices(hash, COUNT))
}
