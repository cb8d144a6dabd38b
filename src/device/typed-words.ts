/** Words as a person typed them. */
import { Refusal } from '../crypto/refusal.ts'
import { parseWords } from '../crypto/words.ts'
import { AppError } from '../errors.ts'

/**
 * The indices of the words.
 * @param wanted how many there have to be
 * @throws AppError `word_count`, `unknown_word`
 */
function indicesOf(words: string, wanted: { count: number; sentence: string }): number[] {
  try {
    return parseWords(words, wanted.count).indices
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { found, word, suggestions } = error.details
    if (error.reason === 'word_count')
      throw new AppError('word_count', `${wanted.sentence}; ${found} were given.`, {
        details: found === undefined ? {} : { found },
      })
    const nearest = suggestions?.length ? ` Did you hear ${suggestions.join(', or ')}?` : ''
    throw new AppError('unknown_word', `"${word}" is not on the word list.${nearest}`, {
      details: { word: word ?? '', suggestions: suggestions ?? [] },
    })
  }
}

/**
 * The indices of three words, in one text or several.
 * @throws AppError `word_count`, `unknown_word`
 */
export const threeWords = (words: string | readonly string[]): number[] =>
  indicesOf([words].flat().join(' '), { count: 3, sentence: 'Three words are wanted' })

/**
 * The index of the word of a challenge.
 * @throws AppError `word_count`, `unknown_word`
 */
export const challengeWord = (word: string): number =>
  indicesOf(word, { count: 1, sentence: 'A challenge is one word' })[0]!
