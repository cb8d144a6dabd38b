/**
 * The clock offset of the account server, and changes of this device's clock.
 *
 * The changes are those since the last measurement. Signing and verification depend on both.
 */
import type { UnauthenticatedClient } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import type { MetaRows } from '../../state/meta.ts'
import type { Uptime } from './uptime.ts'

/** The account server's clock; `own` if the server is embedded and so uses this device's clock. */
export type ClockSource = UnauthenticatedClient['clock'] | 'own'

/**
 * Sends a request, and measures the server's clock minus this device's clock from its answer, in
 * whole milliseconds.
 *
 * Assumes that the server reads its clock halfway through the round trip (RFC 5905 section 8), so
 * the error is at most half of the round-trip time.
 * @param read sends the request; its answer has the server's time
 * @param now returns Unix milliseconds
 * @throws AppError as the request does
 */
export async function measureOffset<Answer extends { readonly now: string }>(
  read: () => Promise<Answer>,
  now: () => number,
): Promise<{ readonly answer: Answer; readonly offset: number }> {
  const sent = now()
  const answer = await read()
  const received = now()
  return { answer, offset: Math.round(Date.parse(answer.now) - (sent + received) / 2) }
}

const READING = 'clock_reading'
/** The maximum difference between elapsed wall-clock time and elapsed uptime, in milliseconds. */
const DRIFT_MS = 30_000
/** How far the wall clock may be before the last successful sync, in milliseconds. */
const BACK_MS = 60_000
/**
 * The shortest time between two stored readings if no server measures the clock, in milliseconds.
 */
const RENEWED_MS = 60_000

/** A simultaneous reading of the wall clock and the machine's uptime, in milliseconds. */
interface Reading {
  readonly wall_ms: number
  readonly uptime_ms: number
  /** Identifies the machine start from which the uptime counts; null if the system reports none. */
  readonly boot: string | null
}

/**
 * How the wall clock has moved since the last reading, compared with the machine's uptime.
 *
 * - `steady`: both advanced by the same time
 * - `ahead`: the wall clock advanced further than the uptime
 * - `behind`: the wall clock advanced less than the uptime, or was set back
 * - `unmeasured`: there is no earlier reading, or it is from another machine or machine start
 */
export type ClockState = 'steady' | 'ahead' | 'behind' | 'unmeasured'

/**
 * Checks whether the wall clock is known to be wrong, because it moved differently from the uptime.
 */
export const isWrong = (clock: ClockState): boolean => clock === 'ahead' || clock === 'behind'

/**
 * Rejects a request for words while the clock is wrong. If the clock was set ahead, the words would
 * be valid later, so anyone who hears them could use them then.
 * @param source the account server's clock; `own` means that a sync cannot correct the clock
 * @throws AppError invalid_state
 */
export function requireClock(clock: ClockState, source: ClockSource): void {
  if (!isWrong(clock)) return
  const what =
    source === 'own'
      ? 'shows an earlier time than before'
      : `moved ${clock === 'ahead' ? 'ahead' : 'back'} since it was last checked`
  const remedy =
    source === 'own'
      ? 'Set the clock. If it is right now and was ahead before, run "countersignd sync --clock-is-right".'
      : 'Set the clock, then sync: POST /api/v1/sync ("countersignd sync").'
  throw new AppError(
    'invalid_state',
    `The clock of this machine ${what}, so the current words cannot be computed. ${remedy}`,
    { details: { state: 'clock_uncertain' } },
  )
}

/**
 * Returns how long the machine has run since a reading, in milliseconds.
 *
 * Uptimes from two machine starts are not comparable. If the start is unknown, they are compared
 * unless the later uptime is smaller.
 * @returns null if the reading is from another start
 */
function ranSince(from: Reading, { uptime_ms, boot }: Omit<Reading, 'wall_ms'>): number | null {
  if (from.boot !== boot) return null
  const ran = uptime_ms - from.uptime_ms
  return ran < 0 && boot === null ? null : ran
}

/**
 * Returns the state of the wall clock (protocol, section 2). All times are in milliseconds.
 * @param from the reading at the last measurement; null if there was none
 * @param now the current reading of both clocks
 * @param syncedAt the wall clock at the last successful sync, Unix milliseconds; null if there was
 *   none
 */
export function clockStateOf(
  from: Reading | null,
  now: Reading,
  syncedAt: number | null,
): ClockState {
  if (syncedAt !== null && now.wall_ms < syncedAt - BACK_MS) return 'behind'
  if (from === null) return 'unmeasured'
  const ran = ranSince(from, now)
  const drift = now.wall_ms - from.wall_ms - (ran ?? 0)
  if (drift < -DRIFT_MS) return 'behind'
  if (ran === null) return 'unmeasured'
  return drift > DRIFT_MS ? 'ahead' : 'steady'
}

export interface ClockWatch {
  /**
   * Returns the state of the wall clock.
   * @param at the wall clock, Unix milliseconds
   */
  state(at: number): ClockState
  /** Stores that the wall clock is right, because a sync measured it or the user confirmed it. */
  measured(at: number): void
  /**
   * Stores how far the wall clock has advanced, if no server measures it. Does nothing unless the
   * clock is steady.
   */
  noted(at: number): void
}

/**
 * Watches the wall clock.
 *
 * The database stores the reading, so that a clock change is also detected after a restart. No
 * other process writes it. With an embedded account server no one measures the clock, so any time
 * is accepted unless the clock goes back.
 * @param of `boot` identifies the machine start from which `uptime` counts; `syncedAt` returns the
 *   wall clock at the last successful sync, Unix milliseconds, or null if no sync counts
 */
export function newClockWatch(of: {
  meta: Pick<MetaRows, 'get' | 'set'>
  clock: ClockSource
  uptime: Uptime
  boot: string | null
  syncedAt: () => number | null
}): ClockWatch {
  const { meta, clock, uptime, boot, syncedAt } = of
  const isOwn = clock === 'own'
  let reading = meta.get(READING) as Reading | null

  /** Returns the earliest time that the wall clock should show at an uptime, Unix milliseconds. */
  const expectedAt = (from: Reading, up: number) =>
    from.wall_ms + (ranSince(from, { uptime_ms: up, boot }) ?? 0)

  function stateAt(at: number, up: number): ClockState {
    const found = clockStateOf(reading, { wall_ms: at, uptime_ms: up, boot }, syncedAt())
    return isOwn && found !== 'behind' ? 'steady' : found
  }
  function state(at: number): ClockState {
    const recent = stateAt(at, uptime.recent())
    return recent === 'steady' ? recent : stateAt(at, uptime.exact())
  }
  function measured(at: number): void {
    reading = { wall_ms: at, uptime_ms: uptime.exact(), boot }
    meta.set(READING, reading)
  }

  return {
    state,
    measured,
    noted(at) {
      const isDue = reading === null || at - reading.wall_ms >= RENEWED_MS
      if (!isOwn || !isDue || state(at) !== 'steady') return
      // If the wall clock lags by less than DRIFT_MS, the reading keeps the lag, so that several
      // small steps back add up.
      measured(reading === null ? at : Math.max(at, expectedAt(reading, uptime.exact())))
    },
  }
}
