/**
 * Members who repeatedly suspend a connection, and the waits before a rotation.
 *
 * Each time a member revokes a device, no words verify until a new epoch begins. If a member begins
 * an epoch with a row that does not match an account's key log, that account does not get the
 * secret. A member who causes this more than three times in a day is named, so that an owner can
 * remove the member.
 *
 * When a member has revoked a device, the devices of other members wait before they rotate. The
 * member's own devices rotate immediately and are usually first.
 */
import type { Roster } from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'

const DAY_MS = 24 * 3_600_000
const MOST_A_DAY = 3

/** A suspension by a member. The cause is a revocation or an epoch, and each cause counts once. */
interface HoldUp {
  readonly account: string
  readonly cause: `revocation ${number}` | `epoch ${number}`
}

/** A suspension, and when this device first saw it, Unix milliseconds. */
type Noted = HoldUp & { readonly at: number }
type Meta = { readonly meta: Pick<State['meta'], 'get' | 'set' | 'delete'> }

const key = (connection: string) => `hold-ups ${connection}`

const within = ({ meta }: Meta, connection: string, now: number): Noted[] =>
  ((meta.get(key(connection)) ?? []) as readonly Noted[]).filter(
    ({ at }) => Math.abs(now - at) < DAY_MS,
  )

/**
 * Stores the current suspensions of a connection. A cause that is already stored is not counted
 * again.
 */
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
   * Checks whether the wait for an epoch of a connection is over. The first call starts the wait.
   * @param roster the roster stored on this device
   */
  isOver(roster: Pick<Roster, 'connection' | 'epoch'>): boolean
}

const afterMs = (ms: number, act: () => void): void => void setTimeout(act, ms).unref()

/**
 * Creates the waits of this daemon run. Each lasts 1 to 10 minutes, chosen at random.
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
