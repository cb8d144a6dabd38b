/**
 * Shows the words of a connection, and checks words for one listener and one purpose.
 *
 * For the latter, the listener reads a challenge word, and the speaker answers with three words.
 */
import { every } from '../../../api/cursor.ts'
import { someoneOf } from '../../../api/name-text.ts'
import type { Code } from '../../../api/rest/connections.ts'
import type { Challenge, Verification } from '../../../api/rest/verify.ts'
import { ID_PREFIX, isId } from '../../../crypto/encoding/id.ts'
import { AppError } from '../../../errors.ts'
import { byId, noSuch } from '../../by-id.ts'
import { type Api, type Command, type Invocation, UsageError } from '../../command.ts'
import { printLabelled } from '../../labels.ts'
import { idField, optionsOf, textField, valuesOf } from '../../option-fields.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'
import { shown } from '../../table.ts'
import { when } from '../../times.ts'
import { type CodePage, everyonesCodes, watchCodes } from './own-codes.ts'
import { THEIR_WORDS, askForWords } from './typed-words.ts'

/** Returns a purpose in the wording that both people compare. */
export const purposeLine = (purpose: string): string =>
  purpose === '' ? 'no purpose' : `the purpose "${shown(purpose)}"`

/**
 * Returns the connection that must answer; null if every connection may answer.
 * @throws UsageError if the text is not the id of a connection
 */
function connectionOf(expected: string | undefined): string | null {
  if (expected === undefined) return null
  if (isId(ID_PREFIX.connection, expected)) return expected
  throw new UsageError(
    `--expect: "${shown(expected)}" is not the id of a connection (con_…), which --challenge requires. "countersignd connection list" shows the ids.`,
  )
}

/**
 * Rejects a purpose with a decimal fraction. Only letters and digits are compared, so `1000.50`
 * would be the same purpose as `100050`. Groups of three digits, such as `12,000`, lose nothing.
 * @throws UsageError
 */
function requireNoDecimals(purpose: string): void {
  const [fraction] = /\d[.,'](?:\d{1,2}(?!\d)|\d{4,})/.exec(purpose) ?? []
  if (fraction !== undefined)
    throw new UsageError(
      'Points and commas are not compared, so 1000.50 would be the same as 100050. Write the amount without them, such as "1000 and 50 cent".',
    )
}

/** Draws a challenge for a connection; null if every connection may answer. */
export async function drawChallenge(
  { withApi }: Pick<Invocation, 'withApi'>,
  connection_id: string | null,
  purpose: string,
): Promise<Challenge> {
  requireNoDecimals(purpose)
  const of = connection_id === null ? {} : { connection_id }
  try {
    return await withApi((api) => api.verify.challenge({ body: { ...of, purpose } }))
  } catch (error) {
    throw error instanceof AppError && error.code === 'not_found' ? noSuch('connection') : error
  }
}

async function askForAnswer(
  { withApi, io }: Invocation,
  prompt: Prompt,
  challenge_id: string,
): Promise<Verification> {
  const words = prompt.isTerminal
    ? await askForWords(io, prompt, THEIR_WORDS)
    : await prompt.ask(THEIR_WORDS)
  if (words === null || words === '')
    throw new UsageError('No words were given, so nothing was checked. Run the command again.')
  return withApi((api) => api.verify.words({ body: { words, challenge_id } }))
}

/**
 * Draws a challenge word, and checks the three words that answer it.
 * @throws UsageError if words are given as arguments, because they depend on the challenge word
 */
export function verifyAnswer(invocation: Invocation): Promise<Verification> {
  const { args, options, io } = invocation
  if (args.length > 0)
    throw new UsageError(
      'Do not give words together with --challenge. The command first shows you a word to say, then asks for the words of the other side.',
    )
  const connection = connectionOf(options['expect'] as string | undefined)
  return withPrompt(io, async (prompt) => {
    const asked = String(options['purpose'] ?? '')
    const { id, word, purpose } = await drawChallenge(invocation, connection, asked)
    // The word is shown even with --json, because the other person needs it to answer.
    io.stderr.write(
      `Say this word: ${word}\nThe other side must enter it with ${purposeLine(purpose)}. Ask whether they see the same purpose.\n`,
    )
    return askForAnswer(invocation, prompt, id)
  })
}

async function guestCode(api: Api, id: string) {
  const guest = (await every((query) => api.guestCodes.list(query))).find((item) => item.id === id)
  if (guest === undefined) throw noSuch('guest code')
  if (guest.code === null)
    throw new AppError(
      'invalid_state',
      guest.state === 'active'
        ? 'The secret of this guest code is on another device. Use the device that created the code.'
        : `This guest code is ${guest.state}.`,
    )
  return { guest_code_id: id, ...guest.code }
}

const ASKED = {
  challenge: textField('challenge'),
  purpose: textField('purpose'),
  listener: idField('listener', 'member'),
}

/**
 * Returns the options about the listener in the format of the route.
 * @throws UsageError if they are given without --challenge
 */
function askedBy(options: Invocation['options']) {
  const asked = valuesOf(ASKED, options)
  if (Object.keys(asked).length > 0 && asked.challenge === undefined)
    throw new UsageError(
      '--purpose and --listener need --challenge. Add --challenge with the word that the other side said.',
    )
  return asked
}

/** Returns the code of a connection. An error about the listener names the option `--listener`. */
async function connectionCode(api: Api, id: string, asked: ReturnType<typeof askedBy>) {
  try {
    return await api.connections.code({ id, ...asked })
  } catch (error) {
    const [issue] = (error instanceof AppError ? error.details.issues : null) ?? []
    if (issue?.path !== 'listener') throw error
    throw new AppError(
      'validation_failed',
      `--listener: ${issue.message} "countersignd connection members ${id}" shows the members.`,
    )
  }
}

/** The code of a connection or of a guest. A guest's code has no listener. */
type Shown = Omit<Code, 'connection_id'>

/**
 * Returns the own words for a connection (con_…) or a guest (gst_…).
 * @throws AppError `not_found`, and the errors of the route
 */
export function ownCode(
  api: Api,
  id: string,
  asked: ReturnType<typeof askedBy> = {},
): Promise<Shown> {
  if (asked.purpose !== undefined) requireNoDecimals(asked.purpose)
  return id.startsWith(ID_PREFIX.guest)
    ? byId('guest code', () => guestCode(api, id))
    : byId('connection', () => connectionCode(api, id, asked))
}

/**
 * Returns the listener for a sentence, in the form that `verify` uses.
 *
 * Null if the words are for every listener.
 */
function listenerOf({ listener, listener_name, name_source, name_marks }: Shown): string | null {
  if (listener === undefined) return null
  // A name without its source would look like a confirmed name.
  return listener_name === undefined || name_source === undefined || name_marks === undefined
    ? listener
    : someoneOf({ display_name: listener_name, name_source, name_marks })
}

const CALLER_FIRST =
  'The caller speaks first. If you were called, say your words only after "countersignd verify" has answered "Verified".'

const oneCode = async (api: Api, id: string): Promise<CodePage> => {
  const answer = await ownCode(api, id)
  return { answer, lines: [answer.words], valid_until: answer.valid_until }
}

export const codeCommand: Command = {
  usage:
    '[NAME] [--watch] [--json] | NAME --challenge WORD [--purpose TEXT] [--listener USER] [--json]',
  help: `
Shows the three words to say now on a connection (con_…) or to a guest (gst_…). Without a name, shows your words for
all connections and guests. The words change every minute.

The caller speaks first. If you were called, check the words of the caller with "countersignd verify" before you
say yours.

  --watch            show the new words each minute, until you press Ctrl-C
  --challenge WORD   the word that the other person says to you. "countersignd verify --challenge" shows them this
                     word. With it, your three words are valid only for that person and for one purpose. The
                     challenge word does not have to be kept secret
  --purpose TEXT     with --challenge: the purpose of the words. All characters except letters and digits are ignored,
                     so "1.200" and "12.00" are both 1200. Make sure that both sides see the same purpose. Other
                     users of this machine can read the arguments of a command, so the purpose must not be
                     confidential
  --listener USER    with --challenge: the member (acc_…) who said the challenge word. This option is required if
                     the connection has several other members`,
  examples: {
    code: 'your words for everyone',
    'code Mum': 'your words for Mum',
    'code Mum --watch': 'show them until Ctrl-C, as they change',
  },
  options: { ...optionsOf(ASKED), watch: { type: 'boolean' } },
  args: [0, 1],
  takes: [['guest code', 'connection']],
  async run(invocation) {
    const { args, options, withApi, print, say } = invocation
    const [id] = args
    const asked = askedBy(options)
    if (asked.challenge !== undefined && id?.startsWith(ID_PREFIX.connection) !== true)
      throw new UsageError(
        '--challenge can only be used with a connection (con_…), because a guest cannot give a challenge.',
      )
    if (options['watch'] === true) {
      if (asked.challenge !== undefined)
        throw new UsageError('--watch cannot be used with --challenge.')
      return watchCodes(invocation, (api) =>
        id === undefined ? everyonesCodes(api) : oneCode(api, id),
      )
    }
    if (id === undefined) {
      const { answer, lines, valid_until } = await withApi(everyonesCodes)
      print(answer, lines)
      if (valid_until !== null) say(`Valid until ${when(valid_until)}. ${CALLER_FIRST}`)
      return
    }
    const code = await withApi((api) => ownCode(api, id, asked))
    printLabelled(invocation, code, {
      bare: code.words,
      rows: [['Words', code.words]],
      details: [['Valid until', when(code.valid_until)]],
    })
    const listener = listenerOf(code)
    if (listener !== null)
      say(
        `These words are for ${purposeLine(code.purpose ?? '')} and only for ${shown(listener)}. Say the words only if you want exactly this.`,
      )
    say(CALLER_FIRST)
  },
}
