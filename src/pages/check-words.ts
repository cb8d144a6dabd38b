/**
 * Checks typed words in the current minute. This module does not depend on the page: functions that
 * return the words and record accepted windows are passed in.
 */
import { Refusal } from '../crypto/refusal.ts'
import { WORDLIST } from '../crypto/wordlist.ts'
import { parseWords } from '../crypto/words.ts'

export type Verdict =
  | { kind: 'theirs'; window: number }
  | { kind: 'used' | 'own' | 'wrong' }
  | { kind: 'count'; found: number }
  | { kind: 'unknown'; word: string; suggestions: readonly string[] }

export type PageSpeaker = 'owner' | 'guest'

/**
 * Checks `input` against both sides' words in `window` and in the windows before and after it.
 * `accept` records a window as used, and returns false if it was used before.
 */
export async function checkWords(
  input: string,
  window: number,
  wordsOf: (speaker: PageSpeaker, window: number) => Promise<readonly string[]>,
  accept: (window: number) => boolean,
): Promise<Verdict> {
  let typed: string
  try {
    typed = parseWords(input, 3).words.join(' ')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { found = 0, word, suggestions = [] } = error.details
    return word === undefined ? { kind: 'count', found } : { kind: 'unknown', word, suggestions }
  }

  const windows = [window, window - 1, window + 1]
  const spokenIn = async (speaker: PageSpeaker) => {
    const all = await Promise.all(windows.map((each) => wordsOf(speaker, each)))
    return windows.find((_, i) => all[i]!.join(' ') === typed)
  }
  const [theirs, own] = await Promise.all([spokenIn('owner'), spokenIn('guest')])
  if (theirs !== undefined) {
    // The window is recorded before the page shows a verdict, so that only one of two simultaneous
    // checks can succeed.
    return accept(theirs) ? { kind: 'theirs', window: theirs } : { kind: 'used' }
  }
  return { kind: own === undefined ? 'wrong' : 'own' }
}

const LIST: ReadonlySet<string> = new Set(WORDLIST.trimEnd().split('\n'))

/**
 * Replaces the unknown text `word`, which the verdict named, with `by`, a word of the list. If
 * several words were typed without spaces, the known ones among them stay.
 */
export function replaceUnknown(input: string, word: string, by: string): string {
  let done = false
  return input
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\p{L}+/gu, (run) => {
      if (done || run !== word) return run
      done = true
      return replaceIn(run, by)
    })
}

/**
 * Replaces the part of `run` that is most similar to `by`. Only known words may precede and follow
 * that part.
 */
function replaceIn(run: string, by: string): string {
  let best = { unlike: Infinity, text: by }
  const start = listWords(run)
  for (let count = 0; count <= start.length; count++) {
    const before = start.slice(0, count)
    const from = before.join('').length
    for (let end = from + 1; end <= run.length; end++) {
      const after = listWords(run.slice(end))
      const piece = run.slice(from, end)
      const unlike = Math.abs(piece.length - by.length) - sharedStart(piece, by)
      if (after.join('').length === run.length - end && unlike < best.unlike) {
        best = { unlike, text: [...before, by, ...after].join(' ') }
      }
    }
  }
  return best.text
}

/**
 * Returns the known words at the beginning of `run`, up to the first part that is not a known word.
 */
function listWords(run: string): string[] {
  const words: string[] = []
  let from = 0
  for (let end = 1; end <= run.length; end++) {
    if (!LIST.has(run.slice(from, end))) continue
    words.push(run.slice(from, end))
    from = end
  }
  return words
}

function sharedStart(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length += 1
  return length
}
