/**
 * The limit on wrong words: so many a minute for each API token, and so many for all of them
 * together, since a token can make others. The command line counts apart, so that no token can
 * keep the owner from checking words.
 */
import { AppError } from '../errors.ts'

const MOST_OF_CALLER = 20
const MOST_OF_TOKENS = 60
const PERIOD_MS = 60_000

/** The id of an API token, or null for the command line. */
type Caller = string | null

export interface Guesses {
  /**
   * Rejects a caller that has used up its wrong words of the last minute.
   * @param now Unix milliseconds
   * @throws AppError `rate_limited`, with Retry-After
   */
  check(caller: Caller, now: number): void
  /** Counts wrong words of a caller. */
  wrong(caller: Caller, now: number): void
}

interface Try {
  readonly caller: Caller
  readonly at: number
}

/** Throws AppError `rate_limited` where this many tries leave no room for another. */
function requireRoom(tries: readonly Try[], most: number, whose: string, now: number): void {
  const oldest = tries.at(-most)
  if (oldest === undefined) return
  const wait = Math.ceil((oldest.at + PERIOD_MS - now) / 1000)
  throw new AppError(
    'rate_limited',
    `Too many wrong words: ${most} a minute is the most for ${whose}. Try again in ${wait} s.`,
    { headers: { 'Retry-After': String(wait) } },
  )
}

export function newGuesses(): Guesses {
  let tries: Try[] = []
  return {
    check(caller, now) {
      // After the clock was set back, tries in the future must not count for longer than a minute.
      tries = tries.filter(({ at }) => at <= now && now - at < PERIOD_MS)
      const own = tries.filter((one) => one.caller === caller)
      requireRoom(own, MOST_OF_CALLER, caller === null ? 'the command line' : 'a token', now)
      if (caller === null) return
      const ofTokens = tries.filter((one) => one.caller !== null)
      requireRoom(ofTokens, MOST_OF_TOKENS, 'all tokens together', now)
    },
    wrong(caller, now) {
      tries.push({ caller, at: now })
    },
  }
}
