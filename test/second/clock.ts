/**
 * Sections 2 and 11: the state of a device's clock, the age of its last sync, and what follows for
 * words. All times are in milliseconds.
 */

/** A moment by both clocks of a machine. */
export interface Moment {
  readonly wall: number
  /** Time since the machine started, sleep included. */
  readonly uptime: number
  /** Identifies that start. */
  readonly start: string
}

/** What a device knows of its clock. */
export interface ClockInput {
  readonly now: Moment
  /** The last measurement of the clock; null for none. */
  readonly reading: Moment | null
  /** The server's clock minus the own one; null while unknown. */
  readonly offset: number | null
  readonly lastGoodSync: number | null
  /** The highest window whose words were used. */
  readonly highestWindow: number
  /** Whether the account server is embedded: it has no second clock, and is never stale. */
  readonly embedded: boolean
}

export type ClockState = 'behind' | 'unmeasured' | 'ahead' | 'steady'

const DRIFT = 30_000
const BEFORE_SYNC = 60_000

/** Returns the state by the reading and the last good sync alone. */
function stateByReading({ now, reading, lastGoodSync, embedded }: Readable): ClockState {
  const sameStart = reading?.start === now.start
  const ran = sameStart ? now.uptime - reading.uptime : 0
  const expected = reading === null ? null : reading.wall + ran
  if (expected !== null && now.wall < expected - DRIFT) return 'behind'
  if (embedded) return 'steady'
  if (lastGoodSync !== null && now.wall < lastGoodSync - BEFORE_SYNC) return 'behind'
  if (expected === null || !sameStart) return 'unmeasured'
  return now.wall > expected + DRIFT ? 'ahead' : 'steady'
}

type Readable = Pick<ClockInput, 'now' | 'reading' | 'lastGoodSync' | 'embedded'>

/** Returns the state of the clock when words are verified. */
export function clockState(of: ClockInput): ClockState {
  const offset = of.embedded ? 0 : of.offset
  const window = Math.floor(of.now.wall / 60_000)
  if (window + 1 < of.highestWindow || (offset !== null && offset > DRIFT)) return 'behind'
  const state = stateByReading(of)
  if (state === 'behind') return state
  if (offset === null) return 'unmeasured'
  return state === 'steady' && offset < -DRIFT ? 'ahead' : state
}

/** Whether own words may be shown: the clock is not known to have moved. */
export const mayShowWords = (of: Readable): boolean =>
  ['steady', 'unmeasured'].includes(stateByReading(of))

const HOUR = 3_600_000

/** Whether the last good sync is too old for a conclusive answer: to a match, or to none. */
export function isSyncStale(
  { now, lastGoodSync, embedded }: Pick<ClockInput, 'now' | 'lastGoodSync' | 'embedded'>,
  answer: 'match' | 'none',
): boolean {
  if (embedded) return false
  const longest = answer === 'match' ? 7 * 24 * HOUR : HOUR
  return lastGoodSync === null || Math.abs(now.wall - lastGoodSync) > longest
}
