/** The language of the console, and messages as texts and elements. */
import type { ComponentChild } from 'preact'
import { CONSOLE_LANGUAGES } from '../../languages/console/languages.ts'
import type { ConsoleMessages } from '../../languages/console/translation.ts'
import { partsOf, type Template } from '../../languages/message.ts'
import { now } from '../data/clock.ts'

interface ConsoleLanguage {
  readonly tag: string
  /** The language tag for dates and numbers. */
  readonly locale: string
  readonly messages: ConsoleMessages
}

let language: ConsoleLanguage | undefined

/** Loads the messages of the first language of the browser that the console has, or English. */
export async function loadLanguage(): Promise<void> {
  const wanted = navigator.languages.flatMap((range) => {
    const found = CONSOLE_LANGUAGES.find(({ tag }) => range.split('-')[0] === tag)
    return found === undefined ? [] : [{ ...found, locale: range }]
  })
  const [{ tag, locale, load }] = [...wanted, CONSOLE_LANGUAGES[0]] as const
  language = { tag, locale, messages: await load() }
  document.documentElement.lang = tag
}

/** Returns the messages of the language. The language must be loaded. */
export const messages = (): ConsoleMessages => language!.messages

/** Returns the language tag for dates and numbers. */
export const locale = (): string => language!.locale

/** Returns a message with values that are texts. */
export const filled = <Names extends string>(
  template: Template<Names>,
  values: { readonly [N in Names]: string | number },
): string => partsOf(template, values, locale()).join('')

/** Shows a message with values that may be elements. */
export const MessageText = <Names extends string>(of: {
  readonly of: Template<Names>
  readonly values: { readonly [N in Names]: ComponentChild }
}) => <>{partsOf(of.of, of.values, locale())}</>

const sameDay = (a: Date, b: Date) => a.toDateString() === b.toDateString()

/** Returns a time as text: without the day if it is today. */
export function timeShort(iso: string, at: number): string {
  const date = new Date(iso)
  const day = sameDay(date, new Date(at))
    ? {}
    : ({ day: 'numeric', month: 'short', year: 'numeric' } as const)
  return new Intl.DateTimeFormat(locale(), { ...day, hour: '2-digit', minute: '2-digit' }).format(
    date,
  )
}

/** Returns a time to the second, with the time zone. */
export const timeExact = (iso: string): string =>
  new Intl.DateTimeFormat(locale(), { dateStyle: 'full', timeStyle: 'long' }).format(new Date(iso))

const SECOND_MS = 1000
const MINUTE_MS = 60_000

const UNITS: readonly [unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', MINUTE_MS],
]

/**
 * Returns a time relative to now, such as "3 minutes ago". Under a minute ago is "just now".
 * @param minute the beginning of the current minute, Unix milliseconds
 */
export function timeRelative(iso: string, minute: number): string {
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' })
  const since = Date.parse(iso) - minute
  // The time that is left counts from the end of the minute, so that it is never overstated.
  const distance = since > 0 ? Math.max(0, since - MINUTE_MS) : since
  for (const [unit, ms] of UNITS)
    if (Math.abs(distance) >= ms) return format.format(Math.round(distance / ms), unit)
  // The clock of the page goes by the second, so what just happened may be ahead of it.
  const isAhead = Date.parse(iso) > now.peek() + SECOND_MS
  return isAhead ? format.format(0, 'second') : messages().common.justNow
}
