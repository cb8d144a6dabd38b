/**
 * How far the account server's clock is from this device's, and whether this device's has moved
 * since that was measured: what is signed and what is verified here rests on it.
 */
import type { Door } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import type { MetaRows } from '../../state/meta.ts'
import type { Uptime } from './uptime.ts'

/** Where the account server is in this process, there is one clock. */
export type ServerClock = Door['clock'] | 'own'

/**
 * Measure the server's clock minus this one's, in whole milliseconds. The answer is taken to have been written half way
 * through the round trip (RFC 5905 section 8), so it is wrong by half of that at most.
 * @param now Unix milliseconds
 * @throws AppError as the clock's row does
 */
export async function measureOffset(clock: Door['clock'], now: () => number): Promise<number> {
  const sent = now()
  const answer = await clock.read({})
  const received = now()
  return Math.round(Date.parse(answer.now) - (sent + received) / 2)
}

const READING = 'clock_reading'
/** How far the wall clock may be from the time that the machine has run, in milliseconds. */
const DRIFT_MS = 30_000
/** How far the wall clock may be before the last good sync, in milliseconds. */
const BACK_MS = 60_000
/** A reading is replaced at most this often where it is not measured, in milliseconds. */
const RENEWED_MS = 60_000

/** A moment by both clocks, in milliseconds: the wall clock, and the uptime of the machine. */
export interface Reading {
  readonly wall_ms: number
  readonly uptime_ms: number
  /** Which start of which machine the uptime is of; null where the system does not tell. */
  readonly boot: string | null
}

/**
 * The wall clock since the last reading, by the time that the machine has run since:
 * - `steady`: both went on alike
 * - `ahead`: the wall clock went on further
 * - `behind`: the wall clock shows less time than the machine has run, or an earlier time than then
 * - `unmeasured`: there is no reading, or the machine was restarted since, or is another one
 */
export type ClockState = 'steady' | 'ahead' | 'behind' | 'unmeasured'

/** Whether the wall clock is known to have moved: what it shows is another time than it was. */
export const isWrong = (clock: ClockState): boolean => clock === 'ahead' || clock === 'behind'

/**
 * Refuses to say words by a clock that moved: set ahead, it gives words that are good later, for
 * anybody who heard them.
 * @param source the account server's clock: where nothing measures this one, a sync does not help
 * @throws AppError invalid_state
 */
export function demandClock(clock: ClockState, source: ServerClock): void {
  if (!isWrong(clock)) return
  const what =
    source === 'own'
      ? 'went back behind what it showed before'
      : `went ${clock === 'ahead' ? 'ahead' : 'back'} since it was measured`
  const remedy =
    source === 'own'
      ? 'Set it right. Where it is right now, and was ahead before: "countersignd sync --clock-is-right".'
      : 'Set it right, then sync (POST /api/v1/sync).'
  throw new AppError(
    'invalid_state',
    `The clock of this machine ${what}, so the words of this minute are not known. ${remedy}`,
    { details: { state: 'clock_uncertain' } },
  )
}

/**
 * How long the machine has run since a reading, in milliseconds; null where the reading is of another
 * start. Uptimes of two starts, or of two machines, are not compared; nor are those of an unknown
 * start where the later one is less.
 */
function ranSince(from: Reading, { uptime_ms, boot }: Omit<Reading, 'wall_ms'>): number | null {
  if (from.boot !== boot) return null
  const ran = uptime_ms - from.uptime_ms
  return ran < 0 && boot === null ? null : ran
}

/**
 * What the wall clock is found to be (protocol, section 8), all times in milliseconds.
 * @param from the reading of the last measurement
 * @param now both clocks now
 * @param syncedAt the wall clock at the last good sync, Unix milliseconds; null where there was none
 */
export function clockStateOf(from: Reading, now: Reading, syncedAt: number | null): ClockState {
  const ran = ranSince(from, now)
  const moved = now.wall_ms - from.wall_ms - (ran ?? 0)
  if (moved < -DRIFT_MS || (syncedAt !== null && now.wall_ms < syncedAt - BACK_MS)) return 'behind'
  if (ran === null) return 'unmeasured'
  return moved > DRIFT_MS ? 'ahead' : 'steady'
}

export interface ClockWatch {
  /** @param at the wall clock, Unix milliseconds */
  state(at: number): ClockState
  /** Take the wall clock as right: it was measured, or the person vouches for it. */
  measured(at: number): void
  /** Note that the wall clock went on, where nothing measures it; not while it is behind. */
  noted(at: number): void
}

/**
 * Watches the wall clock. The reading is kept in the database, so that a restart in between hides
 * nothing; no other process writes it. Where the account server is in this process, nothing measures
 * the clock: what it shows is taken as it comes, but never back.
 * @param of `boot` identifies the start of the machine since which `uptime` counts; `syncedAt` is
 *   the wall clock at the last good sync, Unix milliseconds, null where none counts
 */
export function newClockWatch(of: {
  meta: Pick<MetaRows, 'get' | 'set'>
  clock: ServerClock
  uptime: Uptime
  boot: string | null
  syncedAt: () => number | null
}): ClockWatch {
  const { meta, clock, uptime, boot, syncedAt } = of
  const isOwn = clock === 'own'
  let reading = meta.get(READING) as Reading | null

  /** The least that the wall clock should show at an uptime. */
  const expectedAt = (from: Reading, up: number) =>
    from.wall_ms + (ranSince(from, { uptime_ms: up, boot }) ?? 0)

  function stateAt(at: number, up: number): ClockState {
    if (reading === null) return isOwn ? 'steady' : 'unmeasured'
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
      // A lag within DRIFT_MS stays in the base: several small steps back add up.
      measured(reading === null ? at : Math.max(at, expectedAt(reading, uptime.exact())))
    },
  }
}
