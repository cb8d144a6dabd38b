/**
 * HMAC-SHA256 (RFC 2104) for keys by the hundred thousand, each asked again and again. A key fills one block of SHA-256 inside
 * and one outside; what those two blocks come to is kept, sixteen words a key, so a MAC costs two blocks and allocates nothing.
 */
import { _SHA256 } from '@noble/hashes/sha2.js'
import { demand } from './refusal.ts'

/** How many 32-bit words a kept key takes. */
export const KEPT_WORDS = 16

const BLOCK = 64
const HALF = KEPT_WORDS / 2
/** What a block of SHA-256 has room for beside its padding, and beside the block of the key that went before. */
const MOST = BLOCK - 9

/** SHA-256 block by block, from a state and to a state that somebody keeps. */
class Blocks extends _SHA256 {
  resume(words: Uint32Array, at: number): void {
    this.set(
      words[at]!,
      words[at + 1]!,
      words[at + 2]!,
      words[at + 3]!,
      words[at + 4]!,
      words[at + 5]!,
      words[at + 6]!,
      words[at + 7]!,
    )
  }

  add(block: DataView): void {
    this.process(block, 0)
  }

  to(words: Uint32Array, at: number): void {
    words.set(this.get(), at)
  }

  write(block: DataView): void {
    block.setUint32(0, this.A)
    block.setUint32(4, this.B)
    block.setUint32(8, this.C)
    block.setUint32(12, this.D)
    block.setUint32(16, this.E)
    block.setUint32(20, this.F)
    block.setUint32(24, this.G)
    block.setUint32(28, this.H)
  }

  first36(): number {
    return (this.A >>> 0) * 16 + (this.B >>> 28)
  }
}

const sha = new Blocks()
const keyBlock = new DataView(new ArrayBuffer(BLOCK))
const START = new Uint32Array(HALF)
sha.to(START, 0)

/** The last block of a message of this length (FIPS 180-4, section 5.1.1), the block of a key having gone before it. */
function lastBlock(length: number): DataView<ArrayBuffer> {
  const block = new DataView(new ArrayBuffer(BLOCK))
  block.setUint8(length, 0x80)
  block.setUint32(BLOCK - 4, (BLOCK + length) * 8)
  return block
}

/** Keep a key of 32 bytes as `KEPT_WORDS` words of `kept`, the first at index `at`; they are as secret as the key. Throws `bad_length`. */
export function keepKey(key: Uint8Array, kept: Uint32Array, at: number): void {
  demand(key.length === 32, 'bad_length', 'a key that is kept is 32 bytes')
  keepHalf(key, 0x36, kept, at)
  keepHalf(key, 0x5c, kept, at + HALF)
  for (let i = 0; i < BLOCK; i++) keyBlock.setUint8(i, 0)
}

function keepHalf(key: Uint8Array, pad: number, kept: Uint32Array, at: number): void {
  for (let i = 0; i < BLOCK; i++) keyBlock.setUint8(i, (key[i] ?? 0) ^ pad)
  sha.resume(START, 0)
  sha.add(keyBlock)
  sha.to(kept, at)
}

/**
 * A reader of MACs over messages of `length` bytes, at most 55, which are written into `message` beforehand. `first36` answers the
 * first 36 bits of the MAC under the key that is kept at a place, as a number. Throws `bad_length`.
 */
export function newKeptHmac(length: number) {
  demand(length <= MOST, 'bad_length', `a message here is at most ${MOST} bytes`)
  const inner = lastBlock(length)
  const outer = lastBlock(32)
  return {
    message: inner,
    first36(kept: Uint32Array, at: number): number {
      sha.resume(kept, at)
      sha.add(inner)
      sha.write(outer)
      sha.resume(kept, at + HALF)
      sha.add(outer)
      return sha.first36()
    },
  }
}
