/** Words as a user typed them. */
import { Refusal } from '../../crypto/refusal.ts'
import { parseWords } from '../../crypto/words.ts'
import { AppError } from '../../errors.ts'

/** The texts of the errors for words that cannot be read. */
interface Messages {
  /** The required number of words, as the beginning of a sentence. */
  readonly wanted: string
  /** The beginning of a suggestion; by default, for words that were heard. */
  readonly suggests?: string
}

/**
 * Reads words that a user typed.
 * @throws AppError `word_count`, `unknown_word`
 */
export function asTyped<T>(read: () => T, { wanted, suggests = 'Did you hear' }: Messages): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { found, word, suggestions } = error.details
    if (error.reason === 'word_count')
      throw new AppError('word_count', `${wanted}; ${found} were given.`, {
        details: found === undefined ? {} : { found },
      })
    const nearest = suggestions?.length ? ` ${suggests} ${suggestions.join(', or ')}?` : ''
    throw new AppError('unknown_word', `"${word}" is not on the word list.${nearest}`, {
      details: { word: word ?? '', suggestions: suggestions ?? [] },
    })
  }
}

/**
 * Returns the indices of three words, in one text or several.
 * @throws AppError `word_count`, `unknown_word`
 */
export const threeWords = (words: string | readonly string[]): number[] =>
  asTyped(() => parseWords([words].flat().join(' '), 3).indices, {
    wanted: 'Three words are wanted',
  })

/**
 * Returns the index of the word of a challenge.
 * @throws AppError `word_count`, `unknown_word`
 */
export const challengeWord = (word: string): number =>
  asTyped(() => parseWords(word, 1).indices[0]!, { wanted: 'A challenge is one word' })
