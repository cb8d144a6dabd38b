/**
 * How long devices of other members wait before they rotate for a member that revoked a device.
 * The member's own devices rotate at once and are usually first.
 */
import type { Roster } from '../../crypto/logs/roster.ts'

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
