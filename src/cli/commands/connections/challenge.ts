/**
 * Checks words for one listener and one purpose.
 * The listener gives a challenge word, and the speaker answers with three words.
 */
import type { Challenge, Verification } from '../../../api/rest/verify.ts'
import { ID_PREFIX, isId } from '../../../crypto/encoding/id.ts'
import { AppError } from '../../../errors.ts'
import { noSuch } from '../../by-id.ts'
import { type Invocation, UsageError } from '../../command.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'
import { shown } from '../../table.ts'

/** Returns a purpose in the wording that both people compare. */
export const purposeLine = (purpose: string): string =>
  purpose === '' ? 'no purpose' : `the purpose "${shown(purpose)}"`

/**
 * Returns the connection that must answer; null for any.
 * @throws UsageError for a text that is not the id of a connection
 */
function connectionOf(expected: string | undefined): string | null {
  if (expected === undefined) return null
  if (isId(ID_PREFIX.connection, expected)) return expected
  throw new UsageError(
    `--expect: "${shown(expected)}" is not the id of a connection (con_…), which --challenge requires. "countersignd connection list" shows the ids.`,
  )
}

async function drawn(
  { withApi, options }: Invocation,
  connection_id: string | null,
): Promise<Challenge> {
  const purpose = String(options['purpose'] ?? '')
  const of = connection_id === null ? {} : { connection_id }
  try {
    return await withApi((api) => api.verify.challenge({ body: { ...of, purpose } }))
  } catch (error) {
    throw error instanceof AppError && error.code === 'not_found' ? noSuch('connection') : error
  }
}

/**
 * Returns whether an error is a typing error: an unknown word, or a wrong number of words.
 * It counts as no attempt, and the prompt asks again.
 */
const isSlip = (error: unknown) =>
  error instanceof AppError && (error.code === 'unknown_word' || error.code === 'word_count')

async function heard(
  { withApi, io }: Invocation,
  prompt: Prompt,
  challenge_id: string,
): Promise<Verification> {
  for (;;) {
    const words = await prompt.ask('Three words that they say: ')
    if (words === null)
      throw new UsageError('No words were given, so nothing was checked. Run the command again.')
    try {
      return await withApi((api) => api.verify.words({ body: { words, challenge_id } }))
    } catch (error) {
      if (!prompt.isTerminal || !isSlip(error)) throw error
      io.stderr.write(`${shown((error as AppError).message)}\n`)
    }
  }
}

/**
 * Draws a challenge word, and checks the three words of the answer.
 * @throws UsageError for words given as arguments, because they depend on the challenge word
 */
export function verifyAnswer(invocation: Invocation): Promise<Verification> {
  const { args, options, io } = invocation
  if (args.length > 0)
    throw new UsageError(
      'Do not give words together with --challenge: it first gives you a word to say, then asks for the words of the other side.',
    )
  const connection = connectionOf(options['expect'] as string | undefined)
  return withPrompt(io, async (prompt) => {
    const { id, word, purpose } = await drawn(invocation, connection)
    // Also with --json: the other person needs the word to answer.
    io.stderr.write(
      `Say this word: ${word}\nThe other side must enter it with ${purposeLine(purpose)}. Ask whether they see the same purpose.\n`,
    )
    return heard(invocation, prompt, id)
  })
}
