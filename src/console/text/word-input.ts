/** What the inputs for words offer: completions, similar words, and how words are spelt. */
import { WORDLIST } from '../../crypto/wordlist.ts'
import { isWord, parseWords } from '../../crypto/words.ts'
import { Refusal } from '../../crypto/refusal.ts'

/** The words in their order, which is alphabetical. */
const WORDS: readonly string[] = WORDLIST.trimEnd().split('\n')

/** How many completions are offered. */
const MOST_COMPLETIONS = 6

/** Returns the lower-case letters of a typed text. */
export const lettersOf = (typed: string): string =>
  typed
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}]/gu, '')

/** Returns the words of a typed text that are separated by anything but letters. */
export const typedWords = (typed: string): string[] =>
  typed
    .normalize('NFKC')
    .toLowerCase()
    .match(/\p{L}+/gu) ?? []

/** Returns the first words of the list that begin with these letters; none for one letter. */
export function completionsOf(letters: string): string[] {
  if (letters.length < 2 || isWord(letters)) return []
  let low = 0
  let high = WORDS.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (WORDS[middle]! < letters) low = middle + 1
    else high = middle
  }
  const found: string[] = []
  while (found.length < MOST_COMPLETIONS && WORDS[low]?.startsWith(letters) === true)
    found.push(WORDS[low++]!)
  return found
}

/** Returns similar words for letters that are no word; none if they are one. */
export function similarWords(letters: string): readonly string[] {
  try {
    parseWords(letters, 1)
    return []
  } catch (error) {
    return error instanceof Refusal ? (error.details.suggestions ?? []) : []
  }
}

/** The spelling alphabet of the ICAO (Annex 10), by letter. */
const SPELLING =
  'Alfa Bravo Charlie Delta Echo Foxtrot Golf Hotel India Juliett Kilo Lima Mike November Oscar Papa Quebec Romeo Sierra Tango Uniform Victor Whiskey Xray Yankee Zulu'.split(
    ' ',
  )

/** Returns the spelling of a word, letter by letter. */
export const spellingOf = (word: string): string =>
  Array.from(word, (letter) => SPELLING[letter.charCodeAt(0) - 97] ?? letter).join(' ')
