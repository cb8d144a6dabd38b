/**
 * Words (section 1): 12 bits a word, read aloud and typed back. The parser forgives spelling of
 * the whole (case, spacing, punctuation), never of a word: an unknown word is named with its
 * neighbours and never corrected.
 */
import { quoted } from './encoding/quoted.ts'
import { demand, Refusal } from './refusal.ts'
import { nearestWords } from './suggest.ts'
import { WORDLIST } from './wordlist.ts'

type List = { words: readonly string[]; index: ReadonlyMap<string, number>; longest: number }

let list: List | undefined

/** The list in the form that reading and writing words wants, made when the first word is read or written. */
function theList(): List {
  if (list !== undefined) return list
  const words = WORDLIST.trimEnd().split('\n')
  const index = new Map(words.map((word, at) => [word, at]))
  return (list = { words, index, longest: Math.max(...words.map((word) => word.length)) })
}

/**
 * Typed text in, its list words and their indices out. NFKC, lower-case without locale, every run
 * of non-letters is one separator, and each run of letters is one or more words.
 *
 * Throws `unknown_word` (`word`: the whole run of letters that does not decode, `suggestions`: up
 * to five) for the first such run, otherwise `word_count` (`found`) unless there are `expect`
 * words. Linear in the input; the caller limits its length.
 */
export function parseWords(input: string, expect: number): { words: string[]; indices: number[] } {
  const indices = wordsIn(input)
  const found = indices.length
  if (found !== expect) {
    throw new Refusal('word_count', `expected ${expect} words, found ${found}`, { found })
  }
  return { words: wordsAt(indices), indices }
}

/** The indices of the words in a typed text, however many. Throws `unknown_word` as `parseWords`. */
export function wordsIn(input: string): number[] {
  const indices: number[] = []
  for (const [run] of input
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/\p{L}+/gu)) {
    const ends = decodeRun(run, indices)
    if (ends.at(-1) !== run.length) {
      const suggestions = nearestWords(run, ends, theList().words, wordEnd)
      throw new Refusal('unknown_word', `not a word of the list: ${quoted(run)}`, {
        word: run,
        suggestions,
      })
    }
  }
  return indices
}

/**
 * Whether a person typed the expected words; several texts count as one. Throws `unknown_word` and
 * `word_count` as `parseWords` does: a slip of the finger is no wrong answer.
 */
export function sameWords(typed: string | readonly string[], expected: readonly string[]): boolean {
  const { words } = parseWords([typed].flat().join(' '), expected.length)
  return words.join(' ') === expected.join(' ')
}

/** Whether a text, in lower case, is one word of the list. */
export const isWord = (text: string): boolean => theList().index.has(text)

/** Indices 0–4095 in, their words out. Throws `bad_value` for any other number. */
export function wordsAt(indices: readonly number[]): string[] {
  return indices.map((index) => {
    const word = theList().words[index]
    demand(word !== undefined, 'bad_value', `no word has the index ${index}`)
    return word
  })
}

/**
 * The first `count` 12-bit big-endian indices of `bytes`. Throws `length` when `bytes` holds fewer
 * than 12 × `count` bits.
 */
export function firstIndices(bytes: Uint8Array, count: number): number[] {
  demand(bytes.length * 8 >= count * 12, 'length', `${count} words need ${count * 12} bits`)
  return Array.from({ length: count }, (_, i) => {
    const at = (i * 3) >> 1
    const pair = (bytes[at]! << 8) | bytes[at + 1]!
    return i % 2 === 0 ? pair >> 4 : pair & 0xfff
  })
}

/** The bytes that 12-bit indices write, an even number of them: `firstIndices` the other way. */
export function bytesOf(indices: readonly number[]): Uint8Array {
  demand(indices.length % 2 === 0, 'length', 'an odd number of words ends inside a byte')
  const bytes = new Uint8Array((indices.length * 12) / 8)
  indices.forEach((index, i) => {
    const at = (i * 3) >> 1
    const pair = i % 2 === 0 ? index << 4 : index
    bytes[at]! |= pair >> 8
    bytes[at + 1]! |= pair & 0xff
  })
  return bytes
}

/** Appends the indices of a run's words; answers where each word begins, and where decoding ended. */
function decodeRun(run: string, indices: number[]): number[] {
  const ends = [0]
  for (let end = wordEnd(run, 0); end > 0; end = wordEnd(run, end)) {
    indices.push(theList().index.get(run.slice(ends.at(-1), end))!)
    ends.push(end)
  }
  return ends
}

/** The end of the word that begins at `from`, or 0. No word begins another, so there is one at most. */
function wordEnd(run: string, from: number): number {
  const { index, longest } = theList()
  for (let end = from + 1; end <= Math.min(from + longest, run.length); end++) {
    if (index.has(run.slice(from, end))) return end
  }
  return 0
}
