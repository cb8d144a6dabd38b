/**
 * Challenges that this device draws.
 *
 * A challenge is one word that the listener says. The speaker's words then answer this listener and
 * one purpose only (protocol, section 2). A challenge stays open until words were checked for it,
 * the same caller draws another one, or it expires.
 *
 * The number of draws is limited, because each draw allows a guess. The command line has its own
 * limit. All API tokens share a second limit, because a token can create more tokens. So no token
 * can use up the owner's draws. The database counts draws by the machine's uptime, so that neither
 * a restart nor a clock change allows more.
 */
import { newChallenge, purposeOf, readPurpose, type Purpose } from '../../crypto/challenge.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import type { ChallengeRow } from '../../state/verifications.ts'
import type { State } from '../../state/state.ts'
import type { Moment } from '../../state/attempts.ts'
import { type Uptime, ranSince } from './uptime.ts'

/** The lifetime of a challenge and the period of the draw limit, in milliseconds. */
export const OPEN_MS = 15 * 60_000
/**
 * The maximum number of draws per connection in that period. It applies to the command line, and to
 * all tokens together.
 */
const MOST = 5

/** A challenge that is still open for one attempt. */
export interface OpenChallenge {
  readonly id: string
  /** The connection that the challenge is for; null for any connection of the account. */
  readonly connection: string | null
  /** The index of its word. */
  readonly word: number
  readonly purpose: Purpose
}

export interface Challenges {
  /**
   * Draws a word that this device's user, the listener, says. Ends the caller's open challenges of
   * the same connection.
   * @param connection the connection id; null for any connection
   * @param purpose the purpose as the user typed it
   * @param caller the id of an API token, or null for the command line
   * @throws AppError `not_found` if the connection is not stored here; `too_long` for the purpose;
   *   `rate_limited`, with Retry-After
   */
  draw(connection: string | null, purpose: string, caller: string | null): OpenChallenge
  /**
   * Returns an open challenge.
   * @throws AppError `not_found`; `invalid_state` with `state` used, ended or expired
   */
  open(id: string): OpenChallenge
  /** Closes a challenge after words were checked for it. */
  use(id: string): void
}

/**
 * Normalises a typed purpose to the form that both sides hash and display. It must be well-formed
 * Unicode.
 * @throws AppError `too_long`
 */
export function typedPurpose(typed: string): Purpose {
  try {
    return readPurpose(typed)
  } catch (error) {
    if (!(error instanceof Refusal && error.reason === 'too_long')) throw error
    throw new AppError('too_long', `The purpose is too long: ${error.message}. Shorten it.`)
  }
}

const CLOSED = {
  used: 'This challenge has been used. It allows one try.',
  ended: 'A newer challenge has replaced this one.',
  expired: 'This challenge has expired.',
} as const

/**
 * Checks whether the draws of two callers share a limit. All tokens share one; the command line has
 * its own.
 */
const isCountedWith = (one: string | null, other: string | null): boolean =>
  (one === null) === (other === null)

/**
 * Returns the error for too many draws.
 * @param seconds the time to wait
 */
const tooMany = (caller: string | null, seconds: number) =>
  new AppError(
    'rate_limited',
    caller === null
      ? `Too many challenges: the limit is ${MOST} in 15 minutes for each connection. Try again in ${seconds} s.`
      : `Too many challenges: the limit is ${MOST} in 15 minutes for each connection, for all tokens together. Try again in ${seconds} s, or create one with "countersignd verify --challenge", which has its own limit.`,
    { headers: { 'Retry-After': String(seconds) } },
  )

const closed = (state: keyof typeof CLOSED) =>
  new AppError('invalid_state', `${CLOSED[state]} Create a new one, and ask for new words.`, {
    details: { state },
  })

/**
 * Creates the challenges of this device.
 * @param of `boot` identifies the machine start from which `uptime` counts; null if unknown
 */
export function newChallenges(of: {
  state: State
  now: () => number
  uptime: Uptime
  boot: string | null
}): Challenges {
  const { state, now, uptime, boot } = of
  const rows = state.challenges

  const moment = (): Moment => ({ uptimeMs: uptime.exact(), boot })
  const left = (row: ChallengeRow, at: Moment) => OPEN_MS - ranSince(row.uptime_ms, row.boot, at)
  /**
   * Checks whether a row was stored after the last start of the machine. The age of other rows is
   * unknown.
   */
  const isOfThisStart = (row: ChallengeRow, { uptimeMs }: Moment) =>
    row.boot === boot && row.uptime_ms <= uptimeMs

  /** Deletes the rows that no longer count, and returns the remaining ones. */
  function recent(at: Moment): ChallengeRow[] {
    const all = rows.all()
    for (const row of all) if (left(row, at) <= 0) rows.delete(row.id)
    return all.filter((row) => left(row, at) > 0)
  }

  /**
   * Rejects a draw above the limit. A challenge for any connection counts for every connection.
   * @throws AppError `rate_limited`
   */
  function requireFew(
    all: readonly ChallengeRow[],
    caller: string | null,
    connection: string | null,
    at: Moment,
  ): void {
    const drawn = all.filter((row) => isCountedWith(row.caller, caller))
    const byConnection = Map.groupBy(drawn, (row) => row.connection)
    const ofAny = byConnection.get(null) ?? []
    const each = connection === null ? [...byConnection.keys(), null] : [connection]
    const waits = each.map((one) => {
      const own = one === null ? [] : (byConnection.get(one) ?? [])
      const ends = [...own, ...ofAny].map((row) => left(row, at)).toSorted((a, b) => b - a)
      return ends[MOST - 1] ?? 0
    })
    const wait = Math.max(...waits)
    if (wait > 0) throw tooMany(caller, Math.ceil(wait / 1000))
  }

  return {
    draw(connection, typed, caller) {
      const purpose = typedPurpose(typed)
      const id = newId('chl_', now())
      const word = newChallenge()
      return state.transaction(() => {
        if (connection !== null && state.connections.get(connection) === null)
          throw unknownConnection()
        const at = moment()
        const drawn = recent(at)
        requireFew(drawn, caller, connection, at)
        const isReplaced = (row: ChallengeRow) =>
          row.caller === caller &&
          (connection === null || row.connection === null || row.connection === connection)
        for (const row of drawn) if (isReplaced(row)) rows.close(row.id, 'ended')
        rows.insert({ id, connection, caller, word, purpose: purpose.shown }, at)
        return { id, connection, word, purpose }
      })
    },

    open(id) {
      const row = rows.get(id)
      if (row === null)
        throw new AppError(
          'not_found',
          'There is no challenge with this id, or it is older than 15 minutes. Create a new one.',
        )
      const { state: is, connection, word, purpose } = row
      if (is !== 'open') throw closed(is)
      const at = moment()
      const isOver = !isOfThisStart(row, at) || left(row, at) <= 0
      if (isOver || word === null || purpose === null) throw closed('expired')
      return { id, connection, word, purpose: purposeOf(purpose) }
    },

    use: (id) => rows.close(id, 'used'),
  }
}

/** Returns the error for a connection that is not stored on this device. */
export const unknownConnection = () =>
  new AppError(
    'not_found',
    'This device has no connection with this id. GET /api/v1/connections ("countersignd connection list") lists the connections of the account.',
  )
