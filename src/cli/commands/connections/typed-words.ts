/** Asks for words that the user heard, and offers similar words for a mistyped one. */
import { threeWords } from '../../../device/codes/typed-words.ts'
import { AppError } from '../../../errors.ts'
import type { Io } from '../../command.ts'
import type { Prompt } from '../../prompt.ts'
import { shown } from '../../table.ts'

/** The question for the words of the other person. */
export const THEIR_WORDS = 'Three words that they say: '

/** Reads words, as `threeWords` does. */
type Reader = (text: string) => unknown

/** Returns the error about words that cannot be read; null if they can. */
function slipIn(text: string, read: Reader): AppError | null {
  try {
    read(text)
    return null
  } catch (error) {
    if (error instanceof AppError && ['unknown_word', 'word_count'].includes(error.code))
      return error
    throw error
  }
}

/** Returns a text with another word in place of the first run of letters that equals `word`. */
function replaced(text: string, word: string, by: string): string {
  let isDone = false
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\p{L}+/gu, (run) => {
      if (isDone || run !== word) return run
      isDone = true
      return by
    })
}

/** Shows similar words by number. Returns the text with the chosen one, or another typed text. */
async function corrected(
  io: Pick<Io, 'stderr'>,
  prompt: Prompt,
  text: string,
  { word = '', suggestions = [] }: AppError['details'],
): Promise<string | null> {
  const list = suggestions.map((one, at) => `  ${at + 1}  ${one}\n`).join('')
  io.stderr.write(`"${shown(word)}" is not on the word list. Did you hear:\n${list}`)
  const answer = await prompt.ask('Its number, or all words again: ')
  const chosen = /^\d$/.test(answer ?? '') ? suggestions[Number(answer) - 1] : undefined
  return chosen === undefined ? answer : replaced(text, word, chosen)
}

/**
 * Asks for words until they can be read. A typing error is not an attempt: nothing is sent.
 * @param read reads the words; the default is for three words
 * @returns the words; empty for an empty line; null at the end of the input
 */
export async function askForWords(
  io: Pick<Io, 'stderr'>,
  prompt: Prompt,
  question: string,
  read: Reader = threeWords,
): Promise<string | null> {
  let typed = await prompt.ask(question)
  while (typed !== null && typed !== '') {
    const slip = slipIn(typed, read)
    if (slip === null) return typed
    if ((slip.details.suggestions ?? []).length > 0) {
      typed = await corrected(io, prompt, typed, slip.details)
    } else {
      io.stderr.write(`${shown(slip.message)}\n`)
      typed = await prompt.ask(question)
    }
  }
  return typed
}
