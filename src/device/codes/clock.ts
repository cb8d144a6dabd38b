/**
 * The offset of the account server's clock, and changes of this device's clock since it was
 * measured. Signing and verification on this device depend on both.
 */
import type { UnauthenticatedClient } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import type { MetaRows } from '../../state/meta.ts'
import type { Uptime } from './uptime.ts'

/**
 * The clock of the account server; `own` for an embedded one, which shares the clock of this
 * device.
 */
export type ClockSource = UnauthenticatedClient['clock'] | 'own'

/**
 * Measures the server's clock minus this one, in whole milliseconds. The response is assumed to
 * be written half way through the round trip (RFC 5905 section 8), so the error is at most half
 * of the round trip.
 * @param now Unix milliseconds
 * @throws AppError as the clock's row does
 */
export async function measureOffset(
  clock: UnauthenticatedClient['clock'],
  now: () => number,
): Promise<number> {
  const sent = now()
  const answer = await clock.read({})
  const received = now()
  return Math.round(Date.parse(answer.now) - (sent + received) / 2)
}

const READING = 'clock_reading'
/** How far the wall clock may differ from the time that the machine has run, in milliseconds. */
const DRIFT_MS = 30_000
/** How far the wall clock may be before the last good sync, in milliseconds. */
const BACK_MS = 60_000
/**
 * Where nothing measures the clock, a reading is replaced at most this often, in milliseconds.
 */
const RENEWED_MS = 60_000

/** A moment by both clocks, in milliseconds: the wall clock, and the uptime of the machine. */
interface Reading {
  readonly wall_ms: number
  readonly uptime_ms: number
  /**
   * Identifies the start of the machine that began the uptime; null where the system reports
   * none.
   */
  readonly boot: string | null
}

/**
 * The wall clock since the last reading, compared with the time that the machine has run since:
 * - `steady`: both advanced alike
 * - `ahead`: the wall clock advanced further
 * - `behind`: the wall clock shows less time than the machine has run, or an earlier time than at
 *   the reading
 * - `unmeasured`: there is no reading, or the machine was restarted since, or is another one
 */
export type ClockState = 'steady' | 'ahead' | 'behind' | 'unmeasured'

/** Checks whether the wall clock is known to have moved, so that it shows a wrong time. */
export const isWrong = (clock: ClockState): boolean => clock === 'ahead' || clock === 'behind'

/**
 * Rejects a request for words while the clock is wrong. A clock that was set ahead gives words
 * that verify later, for any person who heard them.
 * @param source the account server's clock; without a measurement of this clock, a sync is no
 *   remedy
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
      : 'Set the clock, then sync (POST /api/v1/sync).'
  throw new AppError(
    'invalid_state',
    `The clock of this machine ${what}, so the current words cannot be computed. ${remedy}`,
    { details: { state: 'clock_uncertain' } },
  )
}

/**
 * Returns how long the machine has run since a reading, in milliseconds. Uptimes of two starts,
 * or of two machines, are not compared. Those of an unknown start are not compared if the later
 * one is less.
 * @returns null where the reading is of another start
 */
function ranSince(from: Reading, { uptime_ms, boot }: Omit<Reading, 'wall_ms'>): number | null {
  if (from.boot !== boot) return null
  const ran = uptime_ms - from.uptime_ms
  return ran < 0 && boot === null ? null : ran
}

/**
 * Returns the state of the wall clock (protocol, section 2). All times are in milliseconds.
 * @param from the reading of the last measurement; null where there was none
 * @param now both clocks now
 * @param syncedAt the wall clock at the last good sync, Unix milliseconds; null where there was
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
  const moved = now.wall_ms - from.wall_ms - (ran ?? 0)
  if (moved < -DRIFT_MS) return 'behind'
  if (ran === null) return 'unmeasured'
  return moved > DRIFT_MS ? 'ahead' : 'steady'
}

export interface ClockWatch {
  /**
   * Returns the state of the wall clock.
   * @param at the wall clock, Unix milliseconds
   */
  state(at: number): ClockState
  /** Stores the wall clock as right: a sync measured it, or the user confirms it. */
  measured(at: number): void
  /**
   * Stores that the wall clock advanced, where nothing measures it. Does nothing while it is
   * behind.
   */
  noted(at: number): void
}

/**
 * Watches the wall clock. The database stores the reading, so that a restart hides no change; no
 * other process writes it. Where the account server is embedded, nothing measures the clock: any
 * time that it shows is accepted, unless it goes back.
 * @param of `boot` identifies the start of the machine since which `uptime` counts; `syncedAt` is
 *   the wall clock at the last good sync, Unix milliseconds, null where none counts
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

  /** Returns the least time that the wall clock should show at an uptime, Unix milliseconds. */
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
      // A lag within DRIFT_MS stays in the reading, so that several small steps back add up.
      measured(reading === null ? at : Math.max(at, expectedAt(reading, uptime.exact())))
    },
  }
}
