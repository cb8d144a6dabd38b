/** Times for people: the local time, and how far away it is. */

/** The units of a distance, and from how many of them on the next unit is used. */
const UNITS = [
  ['second', 1000, 60],
  ['minute', 60_000, 60],
  ['hour', 3_600_000, 24],
  ['day', 86_400_000, 30],
  ['month', 30 * 86_400_000, 12],
  ['year', 365 * 86_400_000, Infinity],
] as const

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

let formatMade: Intl.RelativeTimeFormat | undefined

/** Returns a distance in the largest unit of which it has at least one, such as "in 3 days". */
function distance(ms: number): string {
  // Made once, because a long list has thousands of times.
  const format = (formatMade ??= new Intl.RelativeTimeFormat('en'))
  for (const [unit, length, most] of UNITS) {
    const count = Math.round(Math.abs(ms) / length)
    if (count === 0) return 'now'
    if (count < most) return format.format(Math.sign(ms) * count, unit)
  }
  return ''
}

const timeOfDay = (at: Date): string =>
  [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')

/** Returns a local time such as "5 Dec 09:30", with the year if it is not the current one. */
function localTime(at: Date, now: Date): string {
  const month = MONTHS[at.getMonth()]
  const year = at.getFullYear() === now.getFullYear() ? '' : ` ${at.getFullYear()}`
  return `${at.getDate()} ${month}${year} ${timeOfDay(at)}`
}

/** Returns a local time such as "09:30", with the date unless it is of today. */
export const clockTime = (at: Date, now: Date): string =>
  at.toDateString() === now.toDateString() ? timeOfDay(at) : localTime(at, now)

/**
 * Returns a time for a person, such as "5 Dec 09:30 (in 3 days)", in the local time zone.
 * @param time in the format of RFC 3339
 */
export function when(time: string, now: number = Date.now()): string {
  const at = new Date(time)
  if (Number.isNaN(at.getTime())) return time
  return `${localTime(at, new Date(now))} (${distance(at.getTime() - now)})`
}

/** Returns a time for a person, or a text if there is none. */
export const whenOr = (none: string, time: string | null): string =>
  time === null ? none : when(time)
