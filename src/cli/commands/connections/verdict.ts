/** The verdict about the words of a caller, in the short lines that a person on a call needs. */
import type { Match, Reason, Verification } from '../../../api/rest/verify.ts'
import { EXIT } from '../../../errors.ts'
import type { Invocation } from '../../command.ts'
import { type Colour, coloured } from '../../output.ts'
import { shown } from '../../table.ts'

const isSure = ({ speaker, conclusive }: Match): boolean => speaker === 'other' && conclusive

/** Returns the exit code. If the words verify, other matches that are inconclusive do not count. */
function exitOf({ verified, conclusive, matches }: Verification): number {
  if (!verified) return conclusive ? EXIT.notVerified : EXIT.inconclusive
  return matches.some(isSure) ? EXIT.ok : EXIT.inconclusive
}

/** Returns the speaker that the words prove; null if they prove none. */
export const provenSpeaker = (result: Verification): Match | null =>
  exitOf(result) === EXIT.ok ? (result.matches.find(isSure) ?? null) : null

/** Yellow is for an inconclusive result. */
const COLOURS: Readonly<Record<number, Colour>> = {
  [EXIT.ok]: 'green',
  [EXIT.notVerified]: 'red',
  [EXIT.inconclusive]: 'yellow',
}

const WHY: Readonly<Record<Reason, string>> = {
  nothing_cached: 'Start with "countersignd guest create" or "countersignd connection create".',
  secret_missing:
    'Some words can be checked only on another device of yours: those of a guest that was made there, or of a connection that is not synced here yet.',
  clock_uncertain: 'The clock of this machine may be wrong. Run "countersignd sync".',
  sync_stale: 'The last sync is too old. Run "countersignd sync".',
  rotation_pending: 'A connection waits for a new secret. Run "countersignd sync".',
  roster_forked: 'The history of a connection forked, so its words cannot be checked.',
  connection_ended: 'An owner ended this connection.',
  old_epoch: 'These words are from before a change of the secret.',
}

/** Returns a verdict in the colour of its exit code. */
const painted = ({ stdout, env }: Invocation['io'], exit: number, text: string): string =>
  coloured(COLOURS[exit]!, shown(text), { stream: stdout, env })

/** What a person sees of a result at a terminal. */
interface TerminalVerdict {
  readonly exit: number
  /** The verdict in one line, in its colour. */
  readonly line: string
  /** What to ask the other person for, to check once more; null if another check has no use. */
  readonly again: string | null
  /** What to do if there is no further check; one instruction each. */
  readonly end: readonly string[]
}

/** Returns why words do not verify. `expected` is the expected speaker in quotes, or null. */
function faultOf(result: Verification, expected: string | null): string {
  const { replayed, echo, old_epoch, conclusive, reasons, purpose } = result
  if (old_epoch) return 'these words are from before a change of the secret.'
  if (replayed) return 'these words were already checked on this device.'
  if (echo) return 'these are your own words.'
  if (reasons.includes('nothing_cached'))
    return 'you have no contacts yet, so no caller can be recognised.'
  if (!conclusive) return 'not everything could be checked.'
  if (purpose !== undefined) return 'the words, the person or the purpose differ.'
  return expected === null
    ? 'no contact of yours has these words now.'
    : `${expected} does not have these words now.`
}

/** Returns the seconds until all words change. */
const secondsLeft = (): number => 60 - (Math.floor(Date.now() / 1000) % 60)

function againOf({ verified, replayed, echo, old_epoch, reasons }: Verification): string | null {
  if (verified || reasons.includes('nothing_cached')) return null
  if (old_epoch) return 'Ask them to open the app, and to say the new words.'
  if (replayed)
    return `If you did not check them yourself on this call, hang up. Otherwise ask for the words of the next minute, in ${secondsLeft()} s.`
  return echo ? 'Ask for their words, not for yours.' : 'Ask for the words once more.'
}

/**
 * Returns the verdict about a result.
 * @param expected the name of the expected speaker, in quotes; null if the caller can be anyone
 */
export function verdictOf(
  { io }: Pick<Invocation, 'io'>,
  result: Verification,
  expected: string | null = null,
): TerminalVerdict {
  const exit = exitOf(result)
  if (exit === EXIT.ok)
    return { exit, line: painted(io, exit, result.summary), again: null, end: [] }
  const isWrong = exit === EXIT.notVerified
  const fault = result.verified
    ? 'the words match, but not everything could be checked.'
    : faultOf(result, expected)
  const reasons = result.verified
    ? result.matches.flatMap((one) => one.reasons ?? [])
    : result.reasons
  return {
    exit,
    line: painted(io, exit, `${isWrong ? 'Not verified' : 'Cannot say'}: ${fault}`),
    again: againOf(result),
    end: isWrong
      ? ['Hang up.', 'Call a number that you know.']
      : [
          ...[...new Set(reasons)].map((reason) => WHY[reason]),
          'This proves nothing, for or against the caller.',
          'Hang up, and call a number that you know.',
        ],
  }
}

/** Prints a result with its summary, and returns the exit code. */
export function reportSummary(invocation: Invocation, result: Verification): number {
  const { io, print } = invocation
  const exit = exitOf(result)
  const line = result.reasons.includes('nothing_cached')
    ? `Cannot say: ${faultOf(result, null)} ${WHY.nothing_cached}`
    : result.summary
  print(result, painted(io, exit, line))
  return exit
}
