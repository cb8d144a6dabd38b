/**
 * Words (section 1): each word encodes 12 bits. People read words aloud and type them.
 *
 * The parser ignores case, spacing and punctuation. It never corrects a misspelt word: it reports
 * the unknown word and suggests similar ones.
 */
import { inMessage } from './encoding/quoted.ts'
import { editDistance } from './encoding/similar.ts'
import { Refusal, requireThat } from './refusal.ts'
import { WORDLIST } from './wordlist.ts'

type List = { words: readonly string[]; index: ReadonlyMap<string, number>; longest: number }

let list: List | undefined

/** Returns the word list, indexed for reading and writing. It is built at the first use. */
function theList(): List {
  if (list !== undefined) return list
  const words = WORDLIST.trimEnd().split('\n')
  const index = new Map(words.map((word, at) => [word, at]))
  return (list = { words, index, longest: Math.max(...words.map((word) => word.length)) })
}

/**
 * Returns the list words in a typed text, and their indices.
 *
 * The text is normalised with NFKC and converted to lower case independently of the locale. Every
 * run of non-letters is one separator. A run of letters can be one word or several words without
 * spaces. The run time is linear in the length of the input, which the caller must limit.
 * @throws Refusal `unknown_word` for the first run of letters that is not made of list words
 * (`word`: the whole run; `suggestions`: at most five), otherwise `word_count` (`found`) if there
 * are not exactly `expect` words
 */
export function parseWords(input: string, expect: number): { words: string[]; indices: number[] } {
  const indices = wordsIn(input)
  const found = indices.length
  if (found !== expect) {
    throw new Refusal('word_count', `expected ${expect} words, found ${found}`, { found })
  }
  return { words: wordsAt(indices), indices }
}

/**
 * Returns the indices of all words in a typed text.
 * @throws Refusal `unknown_word` as `parseWords`
 */
export function wordsIn(input: string): number[] {
  const indices: number[] = []
  for (const [run] of input
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/\p{L}+/gu)) {
    const ends = decodeRun(run, indices)
    if (ends.at(-1) !== run.length) {
      const suggestions = nearestWords(run, ends, theList().words, wordEnd)
      throw new Refusal('unknown_word', `not on the word list: ${inMessage(run)}`, {
        word: run,
        suggestions,
      })
    }
  }
  return indices
}

/**
 * Whether the user typed the expected words, in one text or in several.
 * @throws Refusal `unknown_word` and `word_count` as `parseWords`, because a typing error is not a
 * wrong answer
 */
export function sameWords(typed: string | readonly string[], expected: readonly string[]): boolean {
  const { words } = parseWords([typed].flat().join(' '), expected.length)
  return words.join(' ') === expected.join(' ')
}

/** Whether a lower-case text is one word of the list. */
export const isWord = (text: string): boolean => theList().index.has(text)

/**
 * Returns the words of indices from 0 to 4095.
 * @throws Refusal `bad_value` for any other index
 */
export function wordsAt(indices: readonly number[]): string[] {
  return indices.map((index) => {
    const word = theList().words[index]
    requireThat(word !== undefined, 'bad_value', `the word list has no index ${index}`)
    return word
  })
}

/**
 * Returns the first `count` 12-bit big-endian numbers in `bytes`.
 * @throws Refusal `length` if `bytes` has fewer than 12 × `count` bits
 */
export function firstIndices(bytes: Uint8Array, count: number): number[] {
  requireThat(bytes.length * 8 >= count * 12, 'length', `${count} words need ${count * 12} bits`)
  return Array.from({ length: count }, (_, i) => {
    const at = (i * 3) >> 1
    const pair = (bytes[at]! << 8) | bytes[at + 1]!
    return i % 2 === 0 ? pair >> 4 : pair & 0xfff
  })
}

/** Returns the bytes of an even number of 12-bit indices: the inverse of `firstIndices`. */
export function bytesOf(indices: readonly number[]): Uint8Array {
  requireThat(
    indices.length % 2 === 0,
    'length',
    'the number of words must be even, because two words encode three bytes',
  )
  const bytes = new Uint8Array((indices.length * 12) / 8)
  indices.forEach((index, i) => {
    const at = (i * 3) >> 1
    const pair = i % 2 === 0 ? index << 4 : index
    bytes[at]! |= pair >> 8
    bytes[at + 1]! |= pair & 0xff
  })
  return bytes
}

/**
 * Appends the indices of the words in a run of letters to `indices`.
 *
 * Returns 0, then the end of each word. The last value is where decoding stopped.
 */
function decodeRun(run: string, indices: number[]): number[] {
  // Nearly all runs are one word. No word is the beginning of another, so such a run has no other
  // reading.
  const whole = theList().index.get(run)
  if (whole !== undefined) {
    indices.push(whole)
    return [0, run.length]
  }
  const ends = [0]
  for (let end = wordEnd(run, 0); end > 0; end = wordEnd(run, end)) {
    indices.push(theList().index.get(run.slice(ends.at(-1), end))!)
    ends.push(end)
  }
  return ends
}

/**
 * Returns the end of the word that begins at `from`; 0 if no word begins there.
 *
 * No word is the beginning of another word, so there is at most one.
 */
function wordEnd(run: string, from: number): number {
  const { index, longest } = theList()
  for (let end = from + 1; end <= Math.min(from + longest, run.length); end++) {
    if (index.has(run.slice(from, end))) return end
  }
  return 0
}

const MOST_HINTS = 5
const FAR = 2
const LONGEST_WORD = 9
/** Longer runs usually contain more than one mistake, and would make the search expensive. */
const LONGEST_RUN = 64

/**
 * Returns at most five list words that are similar to a run of letters that could not be decoded.
 *
 * `ends` are the places up to which `run` was decoded, from 0 to where decoding stopped. `wordEnd`
 * returns the end of the word that begins at a place, or 0.
 *
 * The search assumes that one word is wrong. The wrong word begins at the last place or at one of
 * the two places before it, because a mistake can accidentally spell another word first. The
 * letters after the wrong word must decode to the end of the run. If no word fits in a run of
 * several words, the search compares the letters at the last place with all words. Words that begin
 * with the rest of the run rank between one edit and two edits, because the user may have stopped
 * in the middle of a word.
 */
function nearestWords(
  run: string,
  ends: readonly number[],
  words: readonly string[],
  wordEnd: (run: string, from: number) => number,
): string[] {
  if (run.length > LONGEST_RUN) return []
  const decodes = new Set([run.length])
  for (let at = run.length - 1; at >= 0; at--) if (decodes.has(wordEnd(run, at))) decodes.add(at)

  const best = new Map<string, number>()
  const keep = (word: string, score: number) => {
    if (score < (best.get(word) ?? Infinity)) best.set(word, score)
  }
  const compare = (from: number, ends: Iterable<number>) => {
    for (const end of ends) {
      const part = run.slice(from, end)
      if (part.length < 2 || part.length > LONGEST_WORD + FAR) continue
      for (const word of nearTo(part, words))
        keep(word, editDistance(part, word) + unlike(part, word))
    }
  }

  for (const from of ends.slice(-3)) compare(from, decodes)
  const last = ends.at(-1) ?? 0
  const rest = run.slice(last)
  if (best.size === 0 && rest.length > LONGEST_WORD + FAR) {
    compare(
      last,
      Array.from({ length: LONGEST_WORD }, (_, i) => last + 3 + i),
    )
  }
  if (rest.length >= 3) {
    for (const word of words) if (word.startsWith(rest)) keep(word, 1.5 + unlike(rest, word))
  }
  return [...best]
    .toSorted(([, a], [, b]) => a - b)
    .slice(0, MOST_HINTS)
    .map(([word]) => word)
}

/** Breaks ties: people usually get the first letter and the length of a word right. */
const unlike = (part: string, word: string) =>
  (part[0] === word[0] ? 0 : 0.25) + Math.abs(part.length - word.length) / 16

/**
 * Returns the words within `FAR` edits.
 *
 * Cheap filters run first, because malicious input must not make the search slow.
 */
function nearTo(part: string, words: readonly string[]): string[] {
  const letters = lettersOf(part)
  return words.filter(
    (word) =>
      Math.abs(word.length - part.length) <= FAR &&
      // One edit adds or removes at most two letters of the set.
      bitCount(lettersOf(word) ^ letters) <= 2 * FAR &&
      editDistance(part, word) <= FAR,
  )
}

/** Returns a word's letters as a bit set: 26 bits for a–z, and one bit for all other characters. */
function lettersOf(word: string): number {
  let set = 0
  for (let i = 0; i < word.length; i++) {
    const letter = word.charCodeAt(i) - 97
    set |= 1 << (letter >= 0 && letter < 26 ? letter : 26)
  }
  return set
}

function bitCount(set: number): number {
  let count = 0
  for (let rest = set; rest !== 0; rest &= rest - 1) count += 1
  return count
}
