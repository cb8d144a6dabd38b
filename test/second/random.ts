/** Random inputs that a seed repeats. */
import { createCipheriv, createHash } from 'node:crypto'
import type { Bytes } from './bytes.ts'

/** From the environment variable SEED, as in the other property tests. */
export const seed = process.env['SEED'] ?? String(Date.now())
/** The message of every comparison. */
export const again = `again with SEED=${seed}`

export interface Random {
  bytes(length: number): Bytes
  /** Returns an integer 0 … below − 1, for at most 2^48. */
  below(below: number): number
  pick<T>(from: readonly T[]): T
}

/** Returns an independent stream for each name. */
export function random(name: string): Random {
  const key = createHash('sha256').update(`${name} ${seed}`).digest()
  const stream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
  const bytes = (length: number): Bytes => new Uint8Array(stream.update(Buffer.alloc(length)))
  const below = (most: number): number => Buffer.from(bytes(6)).readUIntBE(0, 6) % most
  return { bytes, below, pick: (from) => from[below(from.length)]! }
}
