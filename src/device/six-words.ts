/** Six words: this device's own, and those that a person read off another screen, compared with what they must be (protocol, section 3). */
import { deviceWords } from '../crypto/approval.ts'
import { publicKeys } from '../crypto/device-keys-v1.ts'
import { Refusal } from '../crypto/refusal.ts'
import { sameWords } from '../crypto/words.ts'
import { AppError } from '../errors.ts'
import type { Identity } from './identity.ts'

/** The words of this device, to be typed on one that is signed in. Throws AppError keychain_locked. */
export async function ownWords({ account, device, keys }: Identity): Promise<string> {
  return deviceWords({ account, device, keys: publicKeys(await keys()) }).join(' ')
}

/**
 * Refuse words that are not the expected ones.
 * @param otherwise what it means when they are six words, but others
 * @throws AppError word_count and unknown_word for a slip of the finger, validation_failed for other words
 */
export function demandWords(typed: string, expected: readonly string[], otherwise: string): void {
  if (areSame(typed, expected)) return
  throw new AppError('validation_failed', otherwise, {
    details: { issues: [{ path: 'words', message: 'These are not the words expected.' }] },
  })
}

function areSame(typed: string, expected: readonly string[]): boolean {
  try {
    return sameWords(typed, expected)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { found, word, suggestions } = error.details
    if (error.reason === 'word_count')
      throw new AppError('word_count', `Six words are wanted; ${found} were given.`, {
        details: found === undefined ? {} : { found },
      })
    const nearest = suggestions?.length ? ` Is it ${suggestions.join(', or ')}?` : ''
    throw new AppError('unknown_word', `"${word}" is not on the word list.${nearest}`, {
      details: { word: word ?? '', suggestions: suggestions ?? [] },
    })
  }
}
