/**
 * Repeatable random numbers: a seed, which a test prints, and the numbers that follow from it.
 */
import type { TestContext } from 'node:test'

export interface Chance {
  /** Returns an integer from 0 up to, and not including, `end`. */
  below(end: number): number
  /** Returns one of these items; undefined for none. */
  of<T>(items: readonly T[]): T
}

/** Creates the generator of a seed (mulberry32). */
function chanceOf(seed: number): Chance {
  let state = seed
  const below = (end: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end)
  }
  return { below, of: (items) => items[below(items.length)] as (typeof items)[number] }
}

/** Creates a test’s generator: with another seed each time, or that of the environment’s SEED. */
export function chance(t: TestContext): Chance {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
  t.diagnostic(`SEED=${seed}`)
  return chanceOf(seed)
}
