/** The random inputs of the comparison: their number, and their changes. */
import { test } from 'node:test'
import type { Bytes } from './bytes.ts'
import { type Random, random } from './random.ts'

/** The number of inputs of each comparison. */
export const ROUNDS = {
  words: 1300,
  ids: 908,
  json: 1300,
  codes: 800,
  challenges: 1300,
  purposes: 1000,
  names: 1000,
  'account ids': 300,
  approvals: 300,
  papers: 300,
  signatures: 200,
  'first contacts': 60,
  envelopes: 40,
  places: 400,
  'own entries': 64,
  'safety numbers': 20,
  profiles: 200,
  'sealing keys': 108,
  clocks: 400,
}

/** Registers one test: `compare` with the number of random inputs in `ROUNDS`. */
export function rounds(
  name: keyof typeof ROUNDS,
  compare: (of: Random, round: number) => unknown,
): void {
  test(`${name}: ${ROUNDS[name]} random inputs`, async () => {
    const of = random(name)
    for (let round = 0; round < ROUNDS[name]; round++) await compare(of, round)
  })
}

/** Returns the text with one character more, less or changed, one time in `chance`. */
export function mutated(of: Random, text: string, chance: number): string {
  if (of.below(chance) !== 0) return text
  const at = of.below(text.length + 1)
  const other = of.pick(['', 'a', 'z', '0', 'U', '_', ' ', 'é'])
  return text.slice(0, at) + other + text.slice(at + of.below(2))
}
/** Returns the same bytes, one time in `chance` with one bit changed. */
export function flipped(of: Random, data: Bytes, chance: number): Bytes {
  const copy = data.slice()
  if (of.below(chance) === 0) copy[of.below(copy.length)]! ^= 1 << of.below(8)
  return copy
}

/** Returns a number in the range of windows and places. */
export const randomWindow = (of: Random): number => of.below(of.pick([2 ** 26, 2 ** 48]))
