/**
 * Reads the 24 words of a recovery paper from a terminal without echo, or from standard input.
 *
 * They are never read from an argument or a variable, because other users can see those.
 */
import type { KeyPair } from '../../../crypto/device-keys.ts'
import { didYouMean } from '../../../crypto/encoding/similar.ts'
import { PAPER_WORDS, parsePaper, recoveryKeyOf, slipIn } from '../../../crypto/recovery-paper.ts'
import { Refusal } from '../../../crypto/refusal.ts'
import { wordsAt, wordsIn } from '../../../crypto/words.ts'
import { AppError } from '../../../errors.ts'
import type { Io } from '../../command.ts'
import type { Prompt } from '../../prompt.ts'

/** The input of the functions that ask for words. */
interface Asking {
  readonly io: Pick<Io, 'stderr'>
  readonly prompt: Prompt
  /** What happens if words are missing, for the message: "Nothing was reset." */
  readonly otherwise: string
}

/**
 * Returns whether a word is right at a position, counted from 0.
 *
 * By default, every word of the list is right.
 */
type Belongs = (word: string, at: number) => boolean

const notGiven = ({ otherwise }: Asking, given: number) =>
  new AppError(
    'invalid_state',
    given === 0
      ? `The ${PAPER_WORDS} words were not given. ${otherwise}`
      : `${given} of the ${PAPER_WORDS} words were given. ${otherwise}`,
  )

/**
 * Adds the words of a line to the earlier words, up to the first wrong word.
 * @returns the error about the wrong word; null if all are right. Similar words are suggested only
 * at a terminal. In a script, the line may be the one after the words, such as the mailed code, so
 * the error names both possibilities.
 */
function take(line: string, words: string[], belongs: Belongs, isTerminal: boolean): string | null {
  const before = words.length
  for (const [run] of line.matchAll(/\p{L}+/gu)) {
    let found: string[]
    try {
      found = wordsAt(wordsIn(run))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const nearest = isTerminal ? didYouMean(error.details.suggestions) : ''
      const next = words.length + 1
      const mayBeMissing = !isTerminal && words.length > 0 && words.length === before
      return mayBeMissing
        ? `${before} words were read, but the next line does not begin with a word of the word list. Word ${next} is missing or wrong.`
        : `Word ${next} is not on the word list.${nearest}`
    }
    for (const word of found) {
      if (words.length === PAPER_WORDS)
        return `A recovery key has ${PAPER_WORDS} words, but more were given.`
      if (!belongs(word, words.length)) return `Word ${words.length + 1} is wrong.`
      words.push(word)
    }
  }
  return null
}

/**
 * Asks until there are 24 words. Each line may have any number of words.
 *
 * At a terminal, it asks again after a wrong word.
 * @param of `words`: the earlier words, to which the new ones are added; `belongs`: which words are
 * right; `empty`: what to do after an empty line at a terminal
 * @throws AppError `invalid_state` if not all words are given, `validation_failed` in a script
 */
export async function readPaperWords(
  asking: Asking,
  of: { words?: string[]; belongs?: Belongs; empty?: () => Promise<unknown> } = {},
): Promise<string[]> {
  const { io, prompt, otherwise } = asking
  const { words = [], belongs = () => true, empty } = of
  while (words.length < PAPER_WORDS) {
    const line = await prompt.askUnseen(`Words ${words.length + 1} to ${PAPER_WORDS}: `)
    if (line === null) throw notGiven(asking, words.length)
    if (line === '' && prompt.isTerminal) await empty?.()
    const fault = take(line, words, belongs, prompt.isTerminal)
    if (fault === null) continue
    if (!prompt.isTerminal) throw new AppError('validation_failed', `${fault} ${otherwise}`)
    io.stderr.write(`${fault} Continue with that word.\n`)
  }
  return words
}

/** Returns the error about a wrong checksum, and removes the words from the wrong one on. */
function slipped(words: string[]): string {
  const at = slipIn(words.join(' '))
  words.length = at ?? 0
  return at === null
    ? 'These words are not a recovery key: at least two of them are wrong, or their order differs from the paper.'
    : `These words are not a recovery key: word ${at + 1} is wrong, or is swapped with the next word.`
}

/**
 * Reads the recovery key from the words of a paper.
 * @throws AppError `invalid_state` if not all words are given, `validation_failed` in a script
 */
export async function readPaper(asking: Asking): Promise<KeyPair> {
  const { io, prompt, otherwise } = asking
  for (let words: string[] = []; ;) {
    words = await readPaperWords(asking, { words })
    try {
      return recoveryKeyOf(parsePaper(words.join(' ')))
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason !== 'recovery_checksum') throw error
    }
    const fault = slipped(words)
    if (!prompt.isTerminal)
      throw new AppError(
        'validation_failed',
        `${fault} ${otherwise} Compare the words with the paper, and enter them again.`,
      )
    io.stderr.write(`${fault} Type the words again, starting with word ${words.length + 1}.\n`)
  }
}
