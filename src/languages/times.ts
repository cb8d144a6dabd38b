/** Times as text. The service and the browser code both use this module. */

const TO_THE_MINUTE = {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
} as const

/**
 * Returns a time to the minute, with the name of its time zone.
 * @param locale the language tag for dates
 * @param unixMs Unix milliseconds
 * @param timeZone for example `Europe/Zurich`; by default that of this device
 */
export const minuteIn = (locale: string, unixMs: number, timeZone?: string): string =>
  new Intl.DateTimeFormat(locale, {
    ...TO_THE_MINUTE,
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(unixMs)
