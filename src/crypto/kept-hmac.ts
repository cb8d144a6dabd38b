/**
 * HMAC-SHA256 (RFC 2104) for hundreds of thousands of keys that are each used many times.
 *
 * The key fills one block of the inner SHA-256 and one block of the outer SHA-256. The hash states
 * after these two blocks are stored, 16 words per key. A MAC then needs only two more blocks (three
 * for a long message) and allocates no memory.
 */
import { _SHA256 } from '@noble/hashes/sha2.js'
import { requireThat } from './refusal.ts'

/** The number of 32-bit words that store one key. */
export const KEPT_WORDS = 16

const BLOCK = 64
const HALF = KEPT_WORDS / 2
/** The maximum length of a message in bytes: two SHA-256 blocks minus the shortest padding. */
const MOST = 2 * BLOCK - 9

/** SHA-256 that processes single blocks. The caller stores the state between two blocks. */
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

/**
 * Returns empty blocks for a message of `length` bytes, with the padding already written.
 *
 * The padding counts the key's block, which precedes the message.
 * @see FIPS 180-4, section 5.1.1
 */
function blocksOf(length: number): DataView<ArrayBuffer> {
  const bytes = length + 9 <= BLOCK ? BLOCK : 2 * BLOCK
  const blocks = new DataView(new ArrayBuffer(bytes))
  blocks.setUint8(length, 0x80)
  blocks.setUint32(bytes - 4, (BLOCK + length) * 8)
  return blocks
}

/**
 * Stores a key (32 bytes) as `KEPT_WORDS` words in `midstates`, beginning at index `at`.
 *
 * The words are as secret as the key.
 * @throws Refusal `bad_length`
 */
export function keepKey(key: Uint8Array, midstates: Uint32Array, at: number): void {
  requireThat(key.length === 32, 'bad_length', 'a stored key must be 32 bytes')
  keepHalf(key, 0x36, midstates, at)
  keepHalf(key, 0x5c, midstates, at + HALF)
  for (let i = 0; i < BLOCK; i++) keyBlock.setUint8(i, 0)
}

function keepHalf(key: Uint8Array, pad: number, midstates: Uint32Array, at: number): void {
  for (let i = 0; i < BLOCK; i++) keyBlock.setUint8(i, (key[i] ?? 0) ^ pad)
  sha.resume(START, 0)
  sha.add(keyBlock)
  sha.to(midstates, at)
}

/**
 * Returns a function that computes MACs over messages of `length` bytes, at most 119.
 *
 * The caller must write the message into `message` before the call. `first36` returns the first 36
 * bits of the MAC as a number. It uses the key that is stored in `midstates` at index `at`.
 * @throws Refusal `bad_length`
 */
export function newKeptHmac(length: number) {
  requireThat(length <= MOST, 'bad_length', `a message must be at most ${MOST} bytes`)
  const inner = blocksOf(length)
  const second = inner.byteLength > BLOCK ? new DataView(inner.buffer, BLOCK) : null
  const outer = blocksOf(32)
  return {
    message: inner,
    first36(midstates: Uint32Array, at: number): number {
      sha.resume(midstates, at)
      sha.add(inner)
      if (second !== null) sha.add(second)
      sha.write(outer)
      sha.resume(midstates, at + HALF)
      sha.add(outer)
      return sha.first36()
    },
  }
}
