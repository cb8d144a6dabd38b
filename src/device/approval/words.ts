/**
 * Compares four words from the screen of another device with those of this device's transcript.
 */
import { sameWords } from '../../crypto/words.ts'
import { AppError } from '../../errors.ts'
import { asTyped } from '../codes/typed-words.ts'

/**
 * Rejects words that differ from the expected ones.
 * @param otherwise the message where four other words were typed
 * @throws AppError word_count and unknown_word for a typing error, validation_failed for other
 *   words
 */
export function requireWords(typed: string, expected: readonly string[], otherwise: string): void {
  if (areSame(typed, expected)) return
  throw new AppError('validation_failed', otherwise, {
    details: { issues: [{ path: 'words', message: 'These are not the words expected.' }] },
  })
}

const areSame = (typed: string, expected: readonly string[]): boolean =>
  asTyped(() => sameWords(typed, expected), {
    typed,
    wanted: 'Four words are wanted',
    suggests: 'Is it',
  })
