/** The brake on guessing: so many wrong tries a minute for the whole daemon, whatever the token. */
import { AppError } from '../errors.ts'

const MOST = 20
const PERIOD_MS = 60_000

export interface Guesses {
  /** Throws AppError rate_limited, with Retry-After, while too many wrong tries lie in the last minute. */
  check(now: number): void
  /** Count a wrong try. */
  wrong(now: number): void
}

export function newGuesses(): Guesses {
  let tries: number[] = []
  return {
    check(now) {
      // A clock that was set back must not keep the brake on for longer than a minute.
      tries = tries.filter((at) => at <= now && now - at < PERIOD_MS)
      if (tries.length < MOST) return
      const wait = Math.ceil(((tries[0] as number) + PERIOD_MS - now) / 1000)
      throw new AppError(
        'rate_limited',
        `Too many wrong words: ${MOST} a minute is the most. Try again in ${wait} s.`,
        { headers: { 'Retry-After': String(wait) } },
      )
    },
    wrong(now) {
      tries.push(now)
    },
  }
}
