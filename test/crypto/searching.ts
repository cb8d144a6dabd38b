/** Random values and bounds for the simulations of a server that searches for words. */
import assert from 'node:assert/strict'
import { createCipheriv, createHash } from 'node:crypto'

/** Returns 32 bytes, the next ones of a stream. */
export type Draw = () => Uint8Array

const ZEROS = Buffer.alloc(2 ** 16)

/** Returns a source of the same values in the same order at each run. */
export function seeded(seed: string): Draw {
  const key = createHash('sha256').update(seed).digest()
  const stream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
  let [block, from] = [new Uint8Array(0), 0]
  return () => {
    if (from === block.length) [block, from] = [new Uint8Array(stream.update(ZEROS)), 0]
    from += 32
    return block.slice(from - 32, from)
  }
}

/**
 * Checks that a count is within three standard deviations of its mean, above and below.
 * Seeds are fixed, so the count is the same at each run and never fails by chance.
 */
export function isExpected(count: number, mean: number, what: string): void {
  const span = 3 * Math.sqrt(mean)
  assert(Math.abs(count - mean) <= span, `${what}: ${count}, expected ${mean} ± ${span}`)
}
