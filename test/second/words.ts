/** Section 1: words of twelve bits. */
import { readFileSync } from 'node:fs'
import { type Bytes, need, Refused, utf8, sha256, hex } from './bytes.ts'

/** The published list, which is not the constant of the program. */
const file = readFileSync(new URL('../../docs/en-4096.txt', import.meta.url), 'utf8')
need(
  hex(sha256(utf8(file))) === '9777a12202c22b14201a9b9c19aebfbb693123686b1d6fab44a10c4968a34eb5',
  'not the frozen list',
)
export const LIST: readonly string[] = file.trim().split('\n')
const PLACES: ReadonlyMap<string, number> = new Map(LIST.map((word, index) => [word, index]))

/** Returns `count` indices of twelve bits, from `skip` words on, big-endian. */
export function indicesOf(data: Bytes, count: number, skip = 0): number[] {
  const bits = [...data].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return Array.from({ length: count }, (_, i) =>
    parseInt(bits.slice((skip + i) * 12, (skip + i + 1) * 12), 2),
  )
}
export const wordsOf = (indices: readonly number[]): string[] => indices.map((i) => LIST[i]!)

/**
 * Parses `count` typed words.
 * @throws Refused `unknown_word`, `word_count`
 */
export function parseWords(input: string, count: number): { words: string[]; indices: number[] } {
  const runs = input
    .normalize('NFKC')
    .toLowerCase()
    .split(/\P{L}+/u)
  const words = runs.filter((run) => run !== '').flatMap(decodeRun)
  need(words.length === count, 'word_count')
  return { words, indices: words.map((word) => PLACES.get(word)!) }
}

/** Splits one run of letters. No word begins another, so at most one word fits at each place. */
function decodeRun(run: string): string[] {
  const words: string[] = []
  for (let at = 0; at < run.length;) {
    let end = at + 4
    while (end <= run.length && !PLACES.has(run.slice(at, end))) end++
    if (end > run.length) throw new Refused('unknown_word', run.slice(at))
    words.push(run.slice(at, end))
    at = end
  }
  return words
}
