/**
 * Derives the words of a guest code with WebCrypto (protocol, section 2). `src/crypto/code.ts`
 * derives the same words. Here, no script can read the key.
 */
import { LABEL, ZERO_HEAD } from '../crypto/code.ts'
import { labelled, u32be } from '../crypto/encoding/hash-input.ts'
import { firstIndices, wordsAt } from '../crypto/words.ts'

/** A CryptoKey, in a form that exists in the types of both Node and the browser. */
export type CodeKey = InstanceType<typeof CryptoKey>

/** A guest code has one epoch. */
const EPOCH = 1

/**
 * Derives the code key from K (32 bytes) and the 16 bytes of the guest code id. The result is an
 * HMAC key for signing, which is not extractable. Overwrites `secret` with zeros, also if it fails.
 */
export async function importCodeKey(
  secret: Uint8Array<ArrayBuffer>,
  subject: Uint8Array,
): Promise<CodeKey> {
  try {
    const source = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey'])
    const info = Uint8Array.from(labelled(LABEL.guest, u32be(EPOCH), ZERO_HEAD))
    const derivation = { name: 'HKDF', hash: 'SHA-256', salt: Uint8Array.from(subject), info }
    // The length must be given, because it is part of the derivation. Otherwise WebCrypto would use
    // the block size, 512 bits.
    const kind = { name: 'HMAC', hash: 'SHA-256', length: 256 }
    return await crypto.subtle.deriveKey(derivation, source, kind, false, ['sign'])
  } finally {
    secret.fill(0)
  }
}

/** Returns the three words of `speaker` (16 bytes) in `window`. */
export async function readGuestWords(
  key: CodeKey,
  window: number,
  speaker: Uint8Array,
): Promise<string[]> {
  const message = new Uint8Array(1 + 8 + 16)
  message[0] = 1
  new DataView(message.buffer).setBigUint64(1, BigInt(window))
  message.set(speaker, 9)
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, message))
  return wordsAt(firstIndices(mac, 3))
}
