/** Words as a user typed them. */
import { CUT, withoutKeys } from '../../crypto/encoding/redact.ts'
import { didYouMean } from '../../crypto/encoding/similar.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { parseWords } from '../../crypto/words.ts'
import { AppError } from '../../errors.ts'

/** The texts of the errors for words that cannot be read. */
interface Messages {
  /**
   * The text that the user typed. If it looks like a key, the error does not repeat any part of it.
   */
  readonly typed: string
  /** The beginning of a sentence that states the required number of words. */
  readonly wanted: string
  /** The beginning of a suggestion. The default text is for words that the user heard, not read. */
  readonly suggests?: string
}

/**
 * Reads words that a user typed.
 * @throws AppError `word_count`, `unknown_word`
 */
export function asTyped<T>(
  read: () => T,
  { typed, wanted, suggests = 'Did you hear' }: Messages,
): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { found } = error.details
    if (error.reason === 'word_count')
      throw new AppError('word_count', `${wanted}, but there are ${found}.`, {
        details: found === undefined ? {} : { found },
      })
    const isKey = withoutKeys(typed) !== typed
    const { word = '', suggestions = [] } = isKey ? { word: CUT } : error.details
    const nearest = didYouMean(suggestions, suggests)
    throw new AppError('unknown_word', `"${word}" is not on the word list.${nearest}`, {
      details: { word, suggestions },
    })
  }
}

/**
 * Returns the indices of three words, given as one text or several.
 * @throws AppError `word_count`, `unknown_word`
 */
export function threeWords(words: string | readonly string[]): number[] {
  const typed = [words].flat().join(' ')
  return asTyped(() => parseWords(typed, 3).indices, { typed, wanted: 'Three words are needed' })
}

/**
 * Returns the index of a challenge word.
 * @throws AppError `word_count`, `unknown_word`
 */
export const challengeWord = (word: string): number =>
  asTyped(() => parseWords(word, 1).indices[0]!, {
    typed: word,
    wanted: 'A challenge has one word',
  })
