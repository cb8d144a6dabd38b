import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { subjectOf } from '../../../api/name-text.ts'
import type { Expectation, PublicVerification, Verification } from '../../../api/rest/verify.ts'
import { ID_PREFIX, isId } from '../../../crypto/encoding/id.ts'
import { AppError, EXIT } from '../../../errors.ts'
import { noSuch } from '../../by-id.ts'
import { verifyAnswer } from './code.ts'
import { type Colour, coloured } from '../../output.ts'
import { type Api, type Command, type Invocation, UsageError } from '../../command.ts'
import { shown } from '../../table.ts'

type PublicMatch = PublicVerification['matches'][number]

/** Returns the message about one match, including how reliable it is. */
function told({ kind, profile, stamp, match }: PublicMatch): string {
  if (kind === 'account') {
    const handle = profile?.handle == null ? '' : ` (${profile.handle})`
    return `The public code of ${profile?.display_name}${handle}, account ${profile?.id}: only the account server vouches for that.`
  }
  if (kind === 'stamp')
    return `A stamp by ${stamp?.issuer} of ${stamp?.signed_at}. Words prove nothing: check it at ${stamp?.verification_url}`
  return `Verified: the words of ${subjectOf(match!)}.`
}

/** Returns the reason why a lookup did not identify a speaker. */
function notFound({ conclusive, replayed, echo, old_epoch }: PublicVerification): string {
  if (old_epoch === true)
    return 'Not proven: words from before a change. Ask them to open the app and say new ones.'
  if (replayed) return 'Right words, but they were used before: no proof.'
  if (echo) return 'Your own words, repeated back: no proof.'
  return conclusive
    ? 'Found no one.'
    : 'Inconclusive: found no one, but this device could not check everything ("countersignd verify" shows why).'
}

function linesOf(result: PublicVerification): string[] {
  const { found, ambiguous, matches } = result
  if (!found) return [notFound(result)]
  const warning = 'Several people have these words: ask for those of the next minute.'
  return [...(ambiguous ? [warning] : []), ...matches.map((match) => shown(told(match)))]
}

/** Returns the exit code. If the words verify, other matches that are inconclusive do not count. */
function exitOf({ verified, conclusive, matches }: Verification): number {
  if (!verified) return conclusive ? EXIT.notVerified : EXIT.inconclusive
  const isSure = matches.some((match) => match.speaker === 'other' && match.conclusive)
  return isSure ? EXIT.ok : EXIT.inconclusive
}

/** Yellow is for an inconclusive result. */
const COLOURS: Readonly<Record<number, Colour>> = {
  [EXIT.ok]: 'green',
  [EXIT.notVerified]: 'red',
  [EXIT.inconclusive]: 'yellow',
}

/**
 * Parses the value of `--expect`.
 * @throws UsageError if the text is neither a connection nor an account
 */
function expectationOf(text: string): Expectation {
  if (isId(ID_PREFIX.connection, text)) return { connection_id: text }
  if (isId(ID_PREFIX.account, text)) return { user_id: text }
  throw new UsageError(
    `--expect: "${shown(text)}" is neither the id of a connection (con_…) nor of an account (acc_…). "countersignd connection list" and "countersignd connection members" show them.`,
  )
}

/** Checks words against the expected speaker. If the speaker is unknown, the error has no paths. */
async function verifyExpected(api: Api, words: string, expect: Expectation): Promise<Verification> {
  try {
    return await api.verify.words({ body: { words, expect } })
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'not_found')) throw error
    throw 'connection_id' in expect
      ? noSuch('connection')
      : new AppError(
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

/** Prints the answer and returns the exit code. */
function report({ io, print }: Invocation, result: Verification): number {
  const exit = exitOf(result)
  const colour = COLOURS[exit]!
  print(result, coloured(colour, shown(result.summary), { stream: io.stdout, env: io.env }))
  return exit
}

export const verifyCommand: Command = {
  usage:
    '[--expect CONNECTION_OR_USER | --public] [WORD WORD WORD] [--json] | --challenge [--expect CONNECTION] [--purpose TEXT]',
  help: `
Checks three words against all contacts of this device, on this device. Without words they are read from standard input.

The caller speaks first. If you were called, say your own words ("countersignd code") only after this
command answered "Verified".

  --expect CONNECTION_OR_USER
             checks only the words of this connection (con_…) or this member of your connections (acc_…). Words of
             others count as wrong: a caller who has them is not this person. Tries with --expect
             are counted separately.
  --challenge
             gives you one word to read out, then asks for the three words of the other side ("countersignd code
             --challenge"). They are for you alone: a listener cannot use them towards others. One try; after
             a failure run it again. With --expect, only that connection is accepted.
  --purpose TEXT
             with --challenge: what the words are for, such as a payment. Only letters and digits count: read the
             shown form, "1.200" and "12.00" are both 1200. Other users of this machine can read arguments.
  --public   words of no contact are sent to the account server, which looks for a public code or a stamp with them.
             Only the server vouches for that, so it is the weakest of all answers. Words of a contact are not sent. How to
             have a public code yourself: docs/cli.md, "The public code".

Exit code 0: verified. 10: not verified. 11: inconclusive, something could not be checked; do not take it for a "no". After
100 wrong tries in a row, each further one is followed by a pause: of 1, 2, 4 … 60 minutes. "Not proven: words
from before a change": the other side has not synced since the secret changed by routine. With --public,
0: one person found; 10: no one, or words that prove nothing because they were used before or are your own; 11: several people, a stamp, or no one while this device could not check everything.`,
  options: {
    public: { type: 'boolean' },
    expect: { type: 'string' },
    challenge: { type: 'boolean' },
    purpose: { type: 'string' },
  },
  args: [0, 12],
  async run(invocation) {
    const { args, options, io, withApi, print } = invocation
    if (options['purpose'] !== undefined && options['challenge'] !== true)
      throw new UsageError('Give --challenge too: a purpose is for words that answer one.')
    if (options['public'] === true && (options['expect'] ?? options['challenge']) !== undefined)
      throw new UsageError(
        'Give --public alone: it looks up the words of strangers, which no --expect or --challenge fits.',
      )
    if (options['challenge'] === true) return report(invocation, await verifyAnswer(invocation))
    const expect = options['expect'] === undefined ? null : expectationOf(String(options['expect']))
    const given = args.length > 0 ? args.join(' ') : await text(Readable.from(io.stdin))
    const body = { words: given.trim() }
    if (options['public'] === true) {
      const found = await withApi((api) => api.verify.public({ body }))
      print(found, linesOf(found))
      return codeOf(found)
    }
    const result = await withApi((api) =>
      expect === null ? api.verify.words({ body }) : verifyExpected(api, body.words, expect),
    )
    return report(invocation, result)
  },
}
