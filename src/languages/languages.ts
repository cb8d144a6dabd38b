/** The languages of pages and letters, and the choice among them. */
import { de } from './de.ts'
import { en } from './en.ts'
import { partsOf, type Template } from './message.ts'
import { minuteIn } from './times.ts'
import { type Catalogue, translation } from './translation.ts'

/** A language of pages and letters. */
export interface Language {
  /** The language tag (RFC 5646). */
  readonly tag: string
  /** The language tag for dates and numbers. */
  readonly locale: string
  /** The quotation marks around texts of other people in letters. */
  readonly quotes: readonly [open: string, close: string]
  readonly messages: Catalogue
}

/** English, the language of all readers without a known and available language. */
export const ENGLISH: Language = {
  tag: 'en',
  locale: 'en-GB',
  quotes: ['"', '"'],
  messages: translation(en),
}

/** All languages. A new language needs a catalogue file and a line here. */
export const LANGUAGES: readonly Language[] = [
  ENGLISH,
  { tag: 'de', locale: 'de-DE', quotes: ['„', '“'], messages: de },
]

/** Returns a message as plain text. */
export const messageText = <Names extends string>(
  { locale }: Language,
  template: Template<Names>,
  values: { readonly [N in Names]: string | number },
): string => partsOf(template, values, locale).join('')

/** How a person reads dates and texts. */
export interface ReaderPreferences {
  readonly language: Language
  /** The time zone of the dates, for example `Europe/Zurich`. */
  readonly timeZone: string
}

/** Returns a time to the minute, with the name of the time zone. `ms`: Unix milliseconds. */
export const timeText = ({ language, timeZone }: ReaderPreferences, ms: number): string =>
  minuteIn(language.locale, ms, timeZone)

/** A reader without known preferences. */
export const ANY_READER: ReaderPreferences = { language: ENGLISH, timeZone: 'UTC' }

/** Returns the ranges of an `Accept-Language` field with their weights, the preferred one first. */
function rangesOf(field: string): { range: string; weight: number }[] {
  const ranges = field.split(',').flatMap((item) => {
    const match = /^\s*([a-z\d*-]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/i.exec(item)
    return match === null
      ? []
      : [{ range: match[1]!.toLowerCase(), weight: Math.min(1, Number(match[2] ?? 1)) }]
  })
  return ranges.toSorted((a, b) => b.weight - a.weight)
}

/**
 * Returns the language of an `Accept-Language` field or of one language tag: for each range in the
 * order of the weights, the language of the range, or of the range without its last subtags. Null
 * if there is none. Strangers choose the field, so the time must be linear in its length.
 * @see RFC 9110 section 12.5.4, RFC 4647 section 3.4
 */
export function languageFor(field: string): Language | null {
  const ranges = rangesOf(field)
  const refused = new Set(ranges.filter(({ weight }) => weight === 0).map(({ range }) => range))
  const accepted = LANGUAGES.filter(({ tag }) => !refused.has(tag))
  for (const { range, weight } of ranges) {
    if (weight === 0) break
    if (range === '*') return accepted[0] ?? null
    const [found] = accepted
      .filter(({ tag }) => `${range}-`.startsWith(`${tag}-`))
      .toSorted((a, b) => b.tag.length - a.tag.length)
    if (found !== undefined) return found
  }
  return null
}

/** Returns the language for a visitor of a page. `field`: the `Accept-Language` field, if any. */
export const languageOf = (field: string | undefined): Language =>
  languageFor(field ?? '') ?? ENGLISH
