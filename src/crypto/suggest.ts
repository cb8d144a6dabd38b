/**
 * Finds the list words nearest to a run of letters that does not decode. A hint for the user who
 * typed it; no word is ever corrected by it.
 */

import { editDistance } from './encoding/similar.ts'

const LIMIT = 5
const FAR = 2
const LONGEST_WORD = 9
/** Longer runs hold more than one mistake in practice, and would make the search expensive. */
const LONGEST_RUN = 64

/**
 * Returns up to five words, nearest first. `ends` are the places up to which `run` decodes, from
 * 0 to where it stops; `wordEnd` returns the end of the word that begins at a place, or 0.
 *
 * The search assumes one wrong word: it begins at the last place or at one of the two before it
 * (a mistake can happen to spell another word first), and the letters after it decode to the end.
 * If no word fits in a run of several words, the result is the words near to the letters at the
 * last place. Words that begin with the rest of the run rank between one edit and two, since the
 * user may have stopped in the middle.
 */
export function nearestWords(
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
    .slice(0, LIMIT)
    .map(([word]) => word)
}

/**
 * Breaks ties: people get the first letter right more often than the rest, and the length too.
 */
const unlike = (part: string, word: string) =>
  (part[0] === word[0] ? 0 : 0.25) + Math.abs(part.length - word.length) / 16

/**
 * Returns the words within `FAR` edits. Cheap filters run first, since the search must stay
 * bounded on hostile input.
 */
function nearTo(part: string, words: readonly string[]): string[] {
  const letters = lettersOf(part)
  return words.filter(
    (word) =>
      Math.abs(word.length - part.length) <= FAR &&
      // One edit changes the set of letters by two at most.
      bitCount(lettersOf(word) ^ letters) <= 2 * FAR &&
      editDistance(part, word) <= FAR,
  )
}

/** Returns the set of letters of a word as bits: 26 for a–z, one for every other letter. */
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
