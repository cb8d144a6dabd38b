import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { inQuotes, subjectOf } from '../../../api/name-text.ts'
import type { Expectation, PublicVerification, Verification } from '../../../api/rest/verify.ts'
import { ID_PREFIX, isId } from '../../../crypto/encoding/id.ts'
import { AppError, EXIT } from '../../../errors.ts'
import { noSuch } from '../../by-id.ts'
import { verifyAnswer } from './code.ts'
import { type Api, type Command, type Invocation, type Io, UsageError } from '../../command.ts'
import { withPrompt } from '../../prompt.ts'
import { shown } from '../../table.ts'
import { whenOr } from '../../times.ts'
import { hear, instruct, sayBack } from './hearing.ts'
import { THEIR_WORDS, askForWords } from './typed-words.ts'
import { reportSummary } from './verdict.ts'

type PublicMatch = PublicVerification['matches'][number]

/** Returns the message about one match, including how reliable it is. */
function describeMatch({ kind, profile, stamp, match }: PublicMatch): string {
  if (kind === 'account') {
    const { handle = null, headline = null } = profile ?? {}
    const about = [handle, headline === null ? null : inQuotes(headline)].filter(Boolean).join(', ')
    return `The public code of ${inQuotes(profile?.display_name ?? '')}${about && ` (${about})`}, account ${profile?.id}. Only the account server vouches for this.`
  }
  if (kind === 'stamp')
    return `A stamp by ${stamp?.issuer} of ${whenOr('', stamp?.signed_at ?? null)}. The words alone prove nothing. Check the stamp at ${stamp?.verification_url}`
  return `Verified: the words of ${subjectOf(match!)}.`
}

/** Returns the reason why a lookup did not identify a speaker. */
function notFound({ conclusive, replayed, echo, old_epoch }: PublicVerification): string {
  if (old_epoch === true)
    return 'Not proven: these words are from before the secret changed. Ask the caller to open the app and say the new words.'
  if (replayed) return 'No proof: the words are right, but were used before.'
  if (echo) return 'No proof: these are your own words, repeated to you.'
  return conclusive
    ? 'Found no one.'
    : 'Inconclusive: found no one, but this device could not check everything. To see why, run "countersignd verify".'
}

function linesOf(result: PublicVerification): string[] {
  const { found, ambiguous, matches } = result
  if (!found) return [notFound(result)]
  const warning = 'Several people have these words. Ask for the words of the next minute.'
  return [...(ambiguous ? [warning] : []), ...matches.map((match) => shown(describeMatch(match)))]
}

/**
 * Parses the value of `--expect`.
 * @throws UsageError if the text is no connection, account or guest code
 */
function expectationOf(text: string): Expectation {
  if (isId(ID_PREFIX.connection, text)) return { connection_id: text }
  if (isId(ID_PREFIX.account, text)) return { user_id: text }
  if (isId(ID_PREFIX.guest, text)) return { guest_code_id: text }
  throw new UsageError(
    `--expect: "${shown(text)}" is neither the id of a connection (con_…) nor of an account (acc_…) or a guest code (gst_…). "countersignd connection list", "countersignd connection members" and "countersignd guest list" show these ids.`,
  )
}

/** Checks words against the expected speaker. If the speaker is unknown, the error has no paths. */
async function verifyExpected(api: Api, words: string, expect: Expectation): Promise<Verification> {
  try {
    return await api.verify.words({ body: { words, expect } })
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'not_found')) throw error
    if ('connection_id' in expect) throw noSuch('connection')
    if ('guest_code_id' in expect) throw noSuch('guest code')
    throw new AppError(
      'not_found',
      'You share no connection with this account. "countersignd connection list" shows your connections.',
    )
  }
}

/**
 * Returns the exit code of a lookup.
 *
 * If there are several matches, or the match is a stamp, the speaker is not identified.
 */
function codeOf(result: PublicVerification) {
  const { found, conclusive, ambiguous, replayed, echo, old_epoch, matches } = result
  const isNone = conclusive || replayed || echo || old_epoch === true
  if (!found) return isNone ? EXIT.notVerified : EXIT.inconclusive
  return ambiguous || matches[0]?.kind === 'stamp' ? EXIT.inconclusive : EXIT.ok
}

/** Reads words: one line at a terminal, everything in a script. */
const typedOrPiped = async (io: Io): Promise<string> =>
  io.stdin.isTTY === true
    ? ((await withPrompt(io, (prompt) => askForWords(io, prompt, THEIR_WORDS))) ?? '')
    : text(Readable.from(io.stdin))

/** Checks words that the user types at a terminal. */
async function verifyAtTerminal(
  invocation: Invocation,
  expected: string | null,
  check: (words: string) => Promise<Verification>,
): Promise<number> {
  instruct(invocation, 'The caller speaks first. Do not say your words yet.')
  return withPrompt(invocation.io, async (prompt) => {
    const heard = await hear(invocation, prompt, { question: THEIR_WORDS, expected, check })
    if (heard.speaker !== null) await sayBack(invocation, heard.speaker)
    return heard.exit
  })
}

export const verifyCommand: Command = {
  usage:
    '[--expect NAME | --public] [WORD WORD WORD] [--json] | --challenge [--expect NAME] [--purpose TEXT]',
  help: `
Checks three words against all contacts of this device. The check is made on this device. If no words are given, the
command asks for them at a terminal, offers similar words if you mistype one, and after "Verified" shows the words
that you say back. Without a terminal, the words are read from standard input.

The caller speaks first. If you were called, say your own words ("countersignd code") only after this command has
answered "Verified".

  --expect NAME
             accept only the words of this connection (con_…), of this member of your connections (acc_…) or of this
             guest (gst_…). The words of another contact are not verified, because that contact is not the person you
             expect. Wrong attempts with and without --expect are counted separately
  --challenge
             print one word for you to say, then ask for the three words of the other side
             ("countersignd code --challenge"). These words are valid only for you: a person who overhears the words
             cannot use them with someone else. You have one attempt; after a failure, run the command again. With
             --expect NAME, only the words of that connection are accepted
  --purpose TEXT
             with --challenge: the purpose of the words, for example a payment. All characters except letters and
             digits are ignored, so "1.200" and "12.00" are both 1200. Make sure that both sides see the same purpose.
             Other users of this machine can read the arguments of a command, so the purpose must not be confidential
  --public   if the words match no contact, send them to the account server, which looks for a public code or a
             stamp with these words. Only the account server vouches for the result, so this is the weakest kind of
             answer. Words that match a contact are not sent. To get a public code yourself, see "The public code"
             in docs/cli.md

The exit code is:
   0  the words are verified. With --public: one person was found
  10  the words are not verified. With --public: no one was found, or the words prove nothing because they were used
      before or are your own
  11  the result is inconclusive, because something could not be checked. This does not mean that the caller lies.
      With --public: several people or a stamp were found, or no one was found but not everything could be checked

After 100 wrong attempts in a row, each further wrong attempt is followed by a pause: 1 minute, then 2 minutes, then 4
minutes and so on, at most 60 minutes.

The answer "Not proven: words from before a change" means that the caller said words of the previous secret of the
connection: the device of the caller has not synced since a routine change of the secret.`,
  examples: {
    verify: 'type the words that you heard',
    'verify matador carload recede': 'check these words, for example in a script',
    'verify --expect Bank': 'accept only words of the connection "Bank"',
  },
  options: {
    public: { type: 'boolean' },
    expect: { type: 'string', takes: ['connection', 'group member', 'guest code'] },
    challenge: { type: 'boolean' },
    purpose: { type: 'string' },
  },
  args: [0, 12],
  async run(invocation) {
    const { args, options, io, withApi, print } = invocation
    if (options['purpose'] !== undefined && options['challenge'] !== true)
      throw new UsageError('--purpose can only be used with --challenge.')
    if (options['public'] === true && (options['expect'] ?? options['challenge']) !== undefined)
      throw new UsageError(
        '--public cannot be used with --expect or --challenge, because it looks up the words of strangers.',
      )
    if (options['challenge'] === true)
      return reportSummary(invocation, await verifyAnswer(invocation))
    const expect = options['expect'] === undefined ? null : expectationOf(String(options['expect']))
    const isPublic = options['public'] === true
    const check = (words: string) =>
      withApi((api) =>
        expect === null
          ? api.verify.words({ body: { words } })
          : verifyExpected(api, words, expect),
      )
    if (args.length === 0 && io.stdin.isTTY === true && !isPublic)
      return verifyAtTerminal(invocation, expect === null ? null : 'the expected person', check)
    const words = (args.length > 0 ? args.join(' ') : await typedOrPiped(io)).trim()
    if (isPublic) {
      const found = await withApi((api) => api.verify.public({ body: { words } }))
      print(found, linesOf(found))
      return codeOf(found)
    }
    return reportSummary(invocation, await check(words))
  },
}
