/** Durations in the format of the command line. */
import { UsageError } from './command.ts'

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

/**
 * Returns the seconds of a text such as `90`, `15m`, `30d`.
 * @throws UsageError
 */
export function parseSeconds(option: string, text: string): number {
  const [, count, unit = 's'] = /^(\d{1,9})([smhdw])?$/.exec(text) ?? []
  if (count === undefined)
    throw new UsageError(
      `--${option} takes a duration such as 90s, 15m, 12h, 30d or 2w, not "${text}".`,
    )
  return Number(count) * (SECONDS[unit] as number)
}

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
  [1, 's'],
] as const

/** Returns a duration in the longest unit of which it is a whole number. */
export function span(secondsLong: number): string {
  const [length, unit] = UNITS.find(([length]) => secondsLong % length === 0) ?? UNITS[3]
  return `${secondsLong / length}${unit}`
}
