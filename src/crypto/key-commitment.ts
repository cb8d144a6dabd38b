/** The commitment of a roster entry to the secret of the epoch that it opens (section 4). */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from './encoding/base64url.ts'
import { labelled, requireLength, u32be } from './encoding/hash-input.ts'
import { parseId, ID_PREFIX } from './encoding/id.ts'

/**
 * Returns `k_commit` of an epoch: base64url SHA-256 over the connection, the epoch and K (32
 * bytes).
 * @throws Refusal `bad_length`, `bad_value`, and as `parseId`
 */
export function keyCommitment(connection: string, epoch: number, k: Uint8Array): string {
  requireLength(k, 32, 'K')
  const subject = parseId(ID_PREFIX.connection, connection)
  return encodeBase64url(sha256(labelled('countersign/v2/k', subject, u32be(epoch), k)))
}
