/** Random clocks of a device, many of them at an edge of a rule. */
import type { ClockInput } from './clock.ts'
import type { Random } from './random.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Returns 0 one time in two, else a difference within a millisecond of an edge, or any. */
function near(of: Random, edges: readonly number[]): number {
  if (of.below(2) === 0) return 0
  const edge = of.pick([...edges, of.below(10 * HOUR)]) + of.below(3) - 1
  return of.pick([edge, -edge])
}

/** Returns what a device knows of its clock. */
export function clockInput(of: Random): ClockInput {
  const reading = { wall: 1.8e12 + of.below(1e10), uptime: of.below(1e9), start: 'first' }
  const restarted = of.below(4) === 0
  const ran = restarted ? 0 : of.pick([of.below(1000), of.below(1e9)])
  const wall = reading.wall + ran + near(of, [MINUTE / 2])
  const uptime = restarted ? of.below(1e9) : reading.uptime + ran
  const ages = [MINUTE, HOUR, 7 * 24 * HOUR]
  return {
    now: { wall, uptime, start: restarted ? 'second' : 'first' },
    reading: of.below(8) === 0 ? null : reading,
    offset: of.below(8) === 0 ? null : near(of, [MINUTE / 2]),
    lastGoodSync: of.below(8) === 0 ? null : wall + near(of, ages),
    highestWindow: of.pick([0, Math.floor(wall / MINUTE) + of.below(5) - 1]),
    embedded: of.below(5) === 0,
  }
}
