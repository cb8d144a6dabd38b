/**
 * Members who suspend a connection repeatedly. Each revocation of a member stops all words until
 * another epoch opens. Each epoch that a member opens with a row that does not fit leaves an
 * account without the secret. A member who does so more than three times in a day is named, so that
 * an owner can remove them.
 *
 * Devices of other members wait before they rotate for a member that revoked a device. The member's
 * own devices rotate at once and are usually first.
 */
import type { Roster } from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'

const DAY_MS = 24 * 3_600_000
const MOST_A_DAY = 3

/** A suspension by a member. Its cause is a revocation or an epoch, and counts once. */
interface HoldUp {
  readonly account: string
  readonly cause: `revocation ${number}` | `epoch ${number}`
}

/** A suspension and the time at which this device first saw it, in Unix milliseconds. */
type Noted = HoldUp & { readonly at: number }
type Meta = { readonly meta: Pick<State['meta'], 'get' | 'set' | 'delete'> }

const key = (connection: string) => `hold-ups ${connection}`

const within = ({ meta }: Meta, connection: string, now: number): Noted[] =>
  ((meta.get(key(connection)) ?? []) as readonly Noted[]).filter(
    ({ at }) => Math.abs(now - at) < DAY_MS,
  )

/** Stores the current suspensions of a connection. A cause that was stored before counts once. */
export function noteHoldUps(
  state: Meta,
  connection: string,
  holdUps: readonly HoldUp[],
  now: number,
): void {
  const known = within(state, connection, now)
  const fresh = holdUps.filter(({ account, cause }) =>
    known.every((one) => one.account !== account || one.cause !== cause),
  )
  if (fresh.length === 0) return
  const noted = fresh.map((holdUp) => ({ ...holdUp, at: now }))
  state.meta.set(key(connection), [...known, ...noted])
}

/** Returns the members who suspended a connection more than three times in the last 24 hours. */
export function frequentHolders(state: Meta, connection: string, now: number): string[] {
  const accounts = within(state, connection, now).map(({ account }) => account)
  const counts = Map.groupBy(accounts, (account) => account)
  return [...counts].filter(([, times]) => times.length > MOST_A_DAY).map(([account]) => account)
}

/** Deletes the suspensions of a connection. */
export const dropHoldUps = ({ meta }: Meta, connection: string): void =>
  meta.delete(key(connection))

const SHORTEST_MS = 60_000
const LONGEST_MS = 600_000

export interface RotationWaits {
  /**
   * Checks whether the wait for an epoch of a connection is over. The first call starts it.
   * @param roster the one stored on this device
   */
  isOver(roster: Pick<Roster, 'connection' | 'epoch'>): boolean
}

const afterMs = (ms: number, act: () => void): void => void setTimeout(act, ms).unref()

/**
 * Creates the waits of this run of the daemon, each 1 to 10 minutes.
 * @param of `now` returns Unix milliseconds; `wake` is called at the end of each wait
 */
export function newRotationWaits(of: {
  now: () => number
  wake: () => void
  after?: (ms: number, act: () => void) => void
  random?: () => number
}): RotationWaits {
  const { now, wake, after = afterMs, random = Math.random } = of
  const ends = new Map<string, { epoch: number; at: number }>()
  return {
    isOver({ connection, epoch }) {
      const known = ends.get(connection)
      if (known?.epoch === epoch) return now() >= known.at
      const ms = SHORTEST_MS + random() * (LONGEST_MS - SHORTEST_MS)
      ends.set(connection, { epoch, at: now() + ms })
      after(ms, wake)
      return false
    },
  }
}
