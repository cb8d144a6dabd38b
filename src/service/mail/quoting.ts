/**
 * Quotes text that other people wrote, for letters. Quoted text cannot be mistaken for text of the
 * server, and mail programs do not turn it into links. All such text must be quoted with one of
 * these functions: `quoted` for a name, `quotedText` for a message, `addressText` for an address.
 * Only feedback is not changed, because the operator wants to read it as it was written.
 */
import { withFewMarks } from '../../crypto/encoding/quoted.ts'
import type { Language } from '../../languages/languages.ts'

/** Spaces and characters that are not displayed, including all format characters. */
const SPACES = /[\p{C}\p{Z}\s]+/gu

/** Quotation marks of the languages of letters, and angle brackets. */
const QUOTES = /["<>\u00ab\u00bb\u201c-\u201f\u2039\u203a]/g

/** Returns the text as one line, in a form that mail programs do not turn into a link. */
const unlinked = (text: string): string =>
  withFewMarks(text.toWellFormed())
    .replaceAll(SPACES, ' ')
    .replaceAll(QUOTES, "'")
    // This includes full stops, colons and similar characters of other scripts, because some
    // programs accept them in a web address.
    .replaceAll(/[.:/@\\\u3002\uff0e\uff0f\uff1a\uff20\uff61](?=\S)/g, '$& ')
    .trim()

const MARK = '    | '
const WIDTH = 68
const MOST_LINES = 20

/** Wraps text into lines of at most WIDTH characters. A longer word is split. */
function wrapped(line: string): string[] {
  const lines: string[] = []
  let rest = Array.from(line)
  while (rest.length > WIDTH) {
    const space = rest.lastIndexOf(' ', WIDTH)
    const end = space > 0 ? space : WIDTH
    lines.push(rest.slice(0, end).join(''))
    rest = rest.slice(space > 0 ? end + 1 : end)
  }
  return [...lines, rest.join('')]
}

/**
 * Returns a text with a mark before each line. It is shortened to MOST_LINES lines, so that the
 * text after it stays visible.
 */
export function quotedText(text: string): string {
  const lines = text
    .trim()
    .split(/\s*\n\s*|\s*\r\s*/)
    .flatMap((line) => wrapped(unlinked(line)))
  const shown = lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), '…'] : lines
  return shown.map((line) => `${MARK}${line}\n`).join('')
}

/** The maximum length of a name inside a sentence of the server, in characters. */
const LONGEST_NAME = 60

/** The quotation marks of texts that are not in a language of a letter. */
const STRAIGHT: Pick<Language, 'quotes'> = { quotes: ['"', '"'] }

/** Returns a line in quotation marks, shortened to the maximum length. */
function short(line: string, { quotes: [open, close] }: Pick<Language, 'quotes'>): string {
  const characters = Array.from(line)
  return characters.length <= LONGEST_NAME
    ? `${open}${line}${close}`
    : `${open}${characters.slice(0, LONGEST_NAME - 1).join('')}…${close}`
}

/**
 * Returns another person's text as one short quoted line for a letter. Mail programs do not turn it
 * into a link.
 */
export const quoted = (text: string, language = STRAIGHT): string => short(unlinked(text), language)

/** An ordinary mail address, which consists of letters, digits and a few marks. */
const PLAIN_ADDRESS = /^(?!www\.)[a-z0-9][a-z0-9._+-]*@[a-z0-9.-]+$/i

/**
 * Returns another person's mail address for a letter. RFC 5321 section 4.1.2 allows addresses such
 * as `http://evil.example/?@example.org`, a part of which mail programs turn into a link. So an
 * unusual address is quoted like a name.
 */
export const addressText = (address: string, language = STRAIGHT): string =>
  PLAIN_ADDRESS.test(address) ? address : quoted(address, language)

/**
 * Returns a name for texts outside of mail, such as notifications. It is one short quoted line, but
 * not changed to prevent links.
 */
export const plainName = (text: string): string =>
  short(
    withFewMarks(text.toWellFormed()).replaceAll(SPACES, ' ').replaceAll('"', "'").trim(),
    STRAIGHT,
  )

/** Returns a time in UTC, to the minute, for people. `ms`: Unix milliseconds. */
export const minuteText = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** Returns the server's host name, by which people recognise it. */
export const hostOf = (publicUrl: string): string => new URL(publicUrl).host
