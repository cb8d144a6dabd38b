/**
 * The limits on wrong words.
 *
 * Per minute a caller has a few attempts, which are counted in memory. Wrong attempts in a row are
 * counted in the database, and after a certain number each one begins a pause. The pause doubles
 * with each wrong attempt until right words end the row.
 *
 * All API tokens together also have limits, because a token can create more tokens. The command
 * line has separate limits, so that no token can prevent the owner from checking words. Attempts
 * that name the expected speaker are also counted separately, so that a pause of the other attempts
 * does not prevent the user from checking one person. Time is the machine's uptime, which a clock
 * change does not affect.
 */
import { AppError } from '../../errors.ts'
import type { Moment, Series, WrongTries, WrongTryRows } from '../../state/attempts.ts'
import { type Uptime, ranSince } from './uptime.ts'

const MINUTE_MS = 60_000
const LONGEST_PAUSE_MS = 60 * MINUTE_MS

interface Limit {
  /** The key of the row: a token id, or a name that cannot be an id. */
  readonly caller: string
  readonly ofMinute: number
  readonly inRow: number
  /** How error messages name the caller. */
  readonly named: string
}

const COMMAND_LINE: Limit = {
  caller: 'command_line',
  ofMinute: 20,
  inRow: 100,
  named: 'the command line',
}
const ALL_TOKENS: Limit = {
  caller: 'tokens',
  ofMinute: 60,
  inRow: 300,
  named: 'all tokens together',
}
const ofToken = (id: string): Limit => ({
  caller: id,
  ofMinute: 20,
  inRow: 100,
  named: 'a token',
})

/** An attempt: its caller, and whether it names the expected speaker. */
export interface Trying {
  /** The id of an API token, or null for the command line. */
  readonly caller: string | null
  /** Whether the request names the speaker it expects. */
  readonly expected: boolean
}

export interface Guesses {
  /**
   * Rejects a caller that has reached the limit of the last minute or is in a pause.
   * @returns a function that checks the caller again after a wait. It reads the limits only if
   *   wrong words were counted since.
   * @throws AppError `rate_limited`, with Retry-After
   */
  check(trying: Trying): () => void
  /** Counts a wrong attempt. */
  wrong(trying: Trying): void
  /** Takes back the last wrong attempt, which turned out to be no guess. */
  takeBack(trying: Trying): void
  /** Ends the row of wrong attempts, because the words were right. */
  right(trying: Trying): void
}

interface Wait {
  readonly ms: number
  readonly message: (wait: string) => string
}

interface Try extends Series {
  readonly at: number
}

const limitsOf = (caller: string | null): Limit[] =>
  caller === null ? [COMMAND_LINE] : [ofToken(caller), ALL_TOKENS]

const durationOf = (seconds: number): string =>
  seconds > 120 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`

/** Returns the pause after the last of `inRow` wrong attempts, in milliseconds. */
const pauseMs = (inRow: number, most: number): number =>
  inRow < most ? 0 : Math.min(LONGEST_PAUSE_MS, MINUTE_MS * 2 ** (inRow - most))

const otherWay = ({ caller, expected }: Trying): string => {
  if (caller !== null)
    return 'Until then, check words with "countersignd verify", which has its own limit.'
  return expected
    ? 'Then ask for the words again and type them as you hear them.'
    : 'Until then, check the words of one person with "countersignd verify --expect", which has its own limit.'
}

/**
 * Creates the limits over the database rows.
 * @param of `boot` identifies the machine start from which `uptime` counts
 */
export function newGuesses(of: {
  rows: WrongTryRows
  uptime: Uptime
  boot: string | null
}): Guesses {
  const { rows, uptime, boot } = of
  let tries: Try[] = []
  /** The number of wrong attempts of all callers. Only they make a limit stricter. */
  let counted = 0

  const moment = (): Moment => ({ uptimeMs: uptime.exact(), boot })

  function waitOfMinute({ caller, ofMinute, named }: Limit, expected: boolean): Wait[] {
    const own = tries.filter((one) => one.caller === caller && one.expected === expected)
    const oldest = own.at(-ofMinute)
    if (oldest === undefined) return []
    const message = (wait: string) =>
      `Too many wrong words: the limit is ${ofMinute} a minute for ${named}. Try again in ${wait}.`
    return [{ ms: oldest.at + MINUTE_MS - uptime.recent(), message }]
  }

  function waitOfRow({ inRow: most, named }: Limit, row: WrongTries, trying: Trying): Wait[] {
    const pause = pauseMs(row.in_row, most)
    if (pause === 0 || row.paused_from === null) return []
    const ms = pause - ranSince(row.paused_from, row.boot, moment())
    const message = (wait: string) =>
      `Too many wrong words: ${row.in_row} in a row from ${named}. Try again in ${wait}. Correct words then end the pauses. ${otherWay(trying)}`
    return ms > 0 ? [{ ms, message }] : []
  }

  const seriesOf = ({ caller, expected }: Trying): Series[] =>
    limitsOf(caller).map((limit) => ({ caller: limit.caller, expected }))

  function requireAllowed(trying: Trying): void {
    const now = uptime.recent()
    tries = tries.filter(({ at }) => now - at < MINUTE_MS)
    const limits = limitsOf(trying.caller)
    const counts = rows.of(
      limits.map(({ caller }) => caller),
      trying.expected,
    )
    const waits = limits.flatMap((limit) => {
      const row = counts.find(({ caller }) => caller === limit.caller)
      return [
        ...waitOfMinute(limit, trying.expected),
        ...(row === undefined ? [] : waitOfRow(limit, row, trying)),
      ]
    })
    const [longest] = waits.toSorted((a, b) => b.ms - a.ms)
    if (longest === undefined) return
    const seconds = Math.ceil(longest.ms / 1000)
    throw new AppError('rate_limited', longest.message(durationOf(seconds)), {
      headers: { 'Retry-After': String(seconds) },
    })
  }

  return {
    check(trying) {
      requireAllowed(trying)
      let checkedAt = counted
      return () => {
        if (counted === checkedAt) return
        requireAllowed(trying)
        checkedAt = counted
      }
    },
    wrong(trying) {
      const at = moment()
      counted++
      for (const series of seriesOf(trying)) {
        tries.push({ ...series, at: at.uptimeMs })
        rows.add(series, at)
      }
    },
    takeBack(trying) {
      for (const series of seriesOf(trying)) rows.takeBack(series)
    },
    right(trying) {
      for (const series of seriesOf(trying)) rows.end(series)
    },
  }
}
