/**
 * Encrypts a stream of any length in pieces, with constant memory.
 *
 * The method is AES-256-GCM in the STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizár,
 * "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", 2015). The nonce of a
 * piece contains its number and whether it is the last one. Therefore no piece can be changed,
 * moved or omitted, and the stream cannot be truncated. A key must be used for only one stream.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'

/** The size of a piece in bytes before encryption. The last piece may be shorter. */
export const PIECE = 64 * 1024
const TAG = 16
const CIPHER = 'aes-256-gcm'

/** The error for a piece that cannot be decrypted. With a wrong key, the first piece fails. */
export class Unopened extends Error {
  readonly isFirst: boolean

  constructor(isFirst: boolean, cause?: unknown) {
    super('a sealed piece was changed', { cause })
    this.isFirst = isFirst
  }
}

/**
 * Returns the nonce of a piece (12 bytes).
 *
 * The first 11 bytes are the number of the piece, from 0, in big-endian order. The last byte is 1
 * for the last piece and 0 for all others.
 */
function nonceOf(count: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(count, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/**
 * Splits bytes into pieces of one size.
 *
 * The last piece may be shorter. It is empty only if the input is empty.
 */
async function* piecesOf(source: AsyncIterable<Uint8Array>, size: number) {
  let buffered: Uint8Array[] = []
  let length = 0
  let count = 0
  for await (const some of source) {
    buffered.push(some)
    length += some.length
    // One more byte shows that the previous piece is not the last one.
    if (length <= size) continue
    const all = Buffer.concat(buffered)
    let from = 0
    for (; all.length - from > size; from += size)
      yield { bytes: all.subarray(from, from + size), count: count++, isLast: false }
    buffered = [all.subarray(from)]
    length = all.length - from
  }
  yield { bytes: Buffer.concat(buffered), count, isLast: true }
}

/**
 * Encrypts bytes as they arrive.
 * @param key 32 bytes, which must be used for this stream only
 */
export async function* sealStream(
  key: Uint8Array,
  plain: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer, void> {
  for await (const { bytes, count, isLast } of piecesOf(plain, PIECE)) {
    const cipher = createCipheriv(CIPHER, key, nonceOf(count, isLast), { authTagLength: TAG })
    yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  }
}

/**
 * Decrypts a stream that `sealStream` encrypted.
 *
 * Each piece is authentic when it is yielded. The stream was complete if the generator ends without
 * an error.
 * @throws Unopened
 */
export async function* openStream(
  key: Uint8Array,
  sealed: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer, void> {
  for await (const { bytes, count, isLast } of piecesOf(sealed, PIECE + TAG)) {
    if (bytes.length < TAG) throw new Unopened(count === 0)
    const nonce = nonceOf(count, isLast)
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG })
    decipher.setAuthTag(bytes.subarray(-TAG))
    const plain = decipher.update(bytes.subarray(0, -TAG))
    try {
      decipher.final()
    } catch (cause) {
      throw new Unopened(count === 0, cause)
    }
    yield plain
  }
}
