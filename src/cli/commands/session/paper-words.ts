/**
 * The 24 words of a recovery paper: typed at a terminal, which does not show them, or read from
 * standard input. Never from an argument or a variable, which others can see.
 */
import type { KeyPair } from '../../../crypto/device-keys.ts'
import { PAPER_WORDS, parsePaper, recoveryKeyOf, slipIn } from '../../../crypto/recovery-paper.ts'
import { Refusal } from '../../../crypto/refusal.ts'
import { wordsAt, wordsIn } from '../../../crypto/words.ts'
import { AppError } from '../../../errors.ts'
import type { Io } from '../../command.ts'
import type { Prompt } from '../../prompt.ts'

/** How words are asked for. */
interface Asking {
  readonly io: Pick<Io, 'stderr'>
  readonly prompt: Prompt
  /** What is true when they are not given: "Nothing was reset." */
  readonly otherwise: string
}

/** Whether a word belongs at a place, from 0; by default every word of the list does. */
type Belongs = (word: string, at: number) => boolean

const notGiven = ({ otherwise }: Asking) =>
  new AppError('invalid_state', `The ${PAPER_WORDS} words were not given. ${otherwise}`)

const suggested = ({ details }: Refusal): string =>
  details.suggestions?.length ? ` Did you mean ${details.suggestions.join(', or ')}?` : ''

/**
 * Adds the words of a line to those before, up to the first that is wrong.
 * @returns what is wrong with that one, or null; it suggests similar words only at a terminal
 */
function take(line: string, words: string[], belongs: Belongs, isTerminal: boolean): string | null {
  for (const [run] of line.matchAll(/\p{L}+/gu)) {
    let found: string[]
    try {
      found = wordsAt(wordsIn(run))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const nearest = isTerminal ? suggested(error) : ''
      return `Word ${words.length + 1} is not on the word list.${nearest}`
    }
    for (const word of found) {
      if (words.length === PAPER_WORDS) return `A paper has ${PAPER_WORDS} words; more were given.`
      if (!belongs(word, words.length)) return `Word ${words.length + 1} is another one.`
      words.push(word)
    }
  }
  return null
}

/**
 * Asks until there are 24 words, as many on a line as the person likes. At a terminal a wrong word
 * is asked for again.
 * @param of `words`: those given before, to which the others are added; `belongs`: which are right;
 *   `empty`: what Enter alone does at a terminal
 * @throws AppError invalid_state where they are not all given, validation_failed in a script
 */
export async function readWords(
  asking: Asking,
  of: { words?: string[]; belongs?: Belongs; empty?: () => Promise<unknown> } = {},
): Promise<string[]> {
  const { io, prompt, otherwise } = asking
  const { words = [], belongs = () => true, empty } = of
  while (words.length < PAPER_WORDS) {
    const line = await prompt.askUnseen(`Words ${words.length + 1} to ${PAPER_WORDS}: `)
    if (line === null) throw notGiven(asking)
    if (line === '' && prompt.isTerminal) await empty?.()
    const fault = take(line, words, belongs, prompt.isTerminal)
    if (fault === null) continue
    if (!prompt.isTerminal) throw new AppError('validation_failed', `${fault} ${otherwise}`)
    io.stderr.write(`${fault} Go on from there.\n`)
  }
  return words
}

/** What is wrong with words that do not fit together; keeps those before the slip. */
function slipped(words: string[]): string {
  const at = slipIn(words.join(' '))
  words.length = at ?? 0
  return at === null
    ? 'These words do not fit together: more than one of them is wrong, or they are in another order than on the paper.'
    : `These words do not fit together: word ${at + 1} is wrong, or changed places with the next.`
}

/**
 * The recovery key of a paper that the person has.
 * @throws AppError invalid_state where the words are not all given, validation_failed in a script
 */
export async function readPaper(asking: Asking): Promise<KeyPair> {
  const { io, prompt, otherwise } = asking
  for (let words: string[] = []; ;) {
    words = await readWords(asking, { words })
    try {
      return recoveryKeyOf(parsePaper(words.join(' ')))
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason !== 'recovery_checksum') throw error
    }
    const fault = slipped(words)
    if (!prompt.isTerminal)
      throw new AppError(
        'validation_failed',
        `${fault} ${otherwise} Compare them with the paper, and give them again.`,
      )
    io.stderr.write(`${fault} Type them again from word ${words.length + 1} on.\n`)
  }
}
