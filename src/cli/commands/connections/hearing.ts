/** Checks the words of the other person at a terminal, and shows the own words after that. */
import type { Match, Verification } from '../../../api/rest/verify.ts'
import { AppError } from '../../../errors.ts'
import { type Invocation, UsageError } from '../../command.ts'
import type { Prompt } from '../../prompt.ts'
import { shown } from '../../table.ts'
import { ownCode } from './code.ts'
import { askForWords } from './typed-words.ts'
import { provenSpeaker, verdictOf } from './verdict.ts'

/** A second check is for words that were misheard. A third one would be for a guess. */
const MOST_CHECKS = 2

/** Writes instructions to standard error, one a line. They are not the answer of a command. */
export const instruct = ({ io }: Pick<Invocation, 'io'>, ...lines: readonly string[]): void =>
  void io.stderr.write(lines.map((line) => `${shown(line)}\n`).join(''))

/** Returns words to say, with the seconds for which this device shows them. */
export const toSay = (words: string, valid_until: string): string =>
  `${words}   (${Math.max(0, Math.ceil((Date.parse(valid_until) - Date.now()) / 1000))} s left)`

/** What to ask the other person, and how to check the answer. */
export interface Hearing {
  readonly question: string
  /** The expected speaker, in quotes; null if the caller can be anyone. */
  readonly expected: string | null
  readonly check: (words: string) => Promise<Verification>
  /** Called before each question. */
  readonly before?: () => Promise<void>
  /** Called after an empty line, before the question is asked again. */
  readonly empty?: () => Promise<void>
}

const nothingHeard = () =>
  new UsageError('No words were given, so nothing is proven. Run the command again.')

/** Asks until there are words. Returns null at the end of the input. */
async function heardWords(
  { io }: Invocation,
  prompt: Prompt,
  { question, before, empty }: Hearing,
): Promise<string | null> {
  await before?.()
  for (;;) {
    const words = await askForWords(io, prompt, question)
    if (words !== '') return words
    await empty?.()
  }
}

/**
 * Asks for words and checks them. If they do not verify, asks once more, except with `--json`.
 *
 * Prints each verdict, and what to do.
 * @returns the exit code of the last verdict, and the proven speaker
 */
export async function hear(
  invocation: Invocation,
  prompt: Prompt,
  hearing: Hearing,
): Promise<{ exit: number; speaker: Match | null }> {
  const { print, json } = invocation
  let exit: number | null = null
  for (let checks = 1; ; checks++) {
    const words = await heardWords(invocation, prompt, hearing)
    if (words === null) {
      if (exit === null) throw nothingHeard()
      return { exit, speaker: null }
    }
    const result = await hearing.check(words)
    const verdict = verdictOf(invocation, result, hearing.expected)
    exit = verdict.exit
    print(result, verdict.line)
    if (verdict.again === null || json || checks === MOST_CHECKS) {
      instruct(invocation, ...verdict.end)
      return { exit, speaker: provenSpeaker(result) }
    }
    instruct(invocation, verdict.again)
  }
}

/** Returns the id of the connection or guest code of a match. */
export const subjectIdOf = ({ connection_id, guest_code_id }: Match): string =>
  connection_id ?? guest_code_id ?? ''

/** Shows the own words for the proven speaker. If there are none, shows why. */
export async function sayBack(invocation: Invocation, speaker: Match): Promise<void> {
  try {
    const { words, valid_until } = await invocation.withApi((api) =>
      ownCode(api, subjectIdOf(speaker)),
    )
    instruct(
      invocation,
      'If they say that they are someone else, hang up.',
      `Now say your words:  ${toSay(words, valid_until)}`,
    )
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    instruct(invocation, `You have no words to say back. ${error.message}`)
  }
}
