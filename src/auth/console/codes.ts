/**
 * The one-time codes with which a browser gets a token of the console.
 *
 * They are only in memory, as hashes. A wrong code counts against every open code, because it
 * cannot be assigned to one.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Scope } from '../scopes.ts'

/** How long a code is valid, in milliseconds. */
const LIFE_MS = 60_000
/** After so many wrong codes, the open codes end. */
const MOST_WRONG = 5
/** How many codes are open at most: each costs memory, and a comparison of every exchange. */
const MOST_OPEN = 10

interface OpenCode {
  readonly digest: Buffer
  /** The last segment of the path at which a browser opens the console with this code. */
  readonly visit: string
  hasVisit: boolean
  readonly scope: Scope
  /** Unix milliseconds. */
  readonly until: number
  wrong: number
}

export interface ConsoleCodes {
  /** Creates a code. Ends the oldest if there are many. `until` is in Unix milliseconds. */
  create(scope: Scope): { code: string; visit: string; until: number }
  /** Records that a browser opened the path of a code. */
  visited(visit: string): void
  /** Uses a code, and returns its scope; null if there is no such code, or no visit of its path. */
  redeem(code: string): Scope | null
  /** Ends every open code, and returns their number. */
  endAll(): number
}

/** Returns the SHA-256 of a code. */
const digestOf = (code: string) => hash('sha256', code, 'buffer')

/**
 * Creates the codes of a run of the daemon.
 * @param of `onNone` is called when the last open code was used or has ended
 */
export function newConsoleCodes({
  now,
  onNone,
}: {
  readonly now: () => number
  readonly onNone: () => void
}): ConsoleCodes {
  let open: readonly OpenCode[] = []

  function leave(remaining: readonly OpenCode[]): void {
    const hadSome = open.length > 0
    open = remaining
    if (hadSome && open.length === 0) onNone()
  }

  return {
    create(scope) {
      const code = randomBytes(32).toString('base64url')
      const visit = randomBytes(16).toString('hex')
      const until = now() + LIFE_MS
      const made = { digest: digestOf(code), visit, hasVisit: false, scope, until, wrong: 0 }
      open = [...open, made].slice(-MOST_OPEN)
      // The timer also ends the code if the clock is set back meanwhile.
      setTimeout(() => leave(open.filter((one) => one !== made)), LIFE_MS).unref()
      return { code, visit, until }
    },

    visited(visit) {
      for (const one of open) if (one.visit === visit) one.hasVisit = true
    },

    redeem(code) {
      const digest = digestOf(code)
      leave(open.filter(({ until }) => until > now()))
      // Every code is compared, so that the duration does not depend on which one matches.
      const [found] = open.filter((one) => timingSafeEqual(one.digest, digest))
      if (found === undefined) {
        for (const one of open) one.wrong++
        leave(open.filter(({ wrong }) => wrong < MOST_WRONG))
        return null
      }
      leave(open.filter((one) => one !== found))
      return found.hasVisit ? found.scope : null
    },

    endAll() {
      const { length } = open
      leave([])
      return length
    },
  }
}
