/** Quotes foreign text for a message: one line, of limited length, without control characters. */

/**
 * The characters that must not be displayed, as a character class without brackets.
 *
 * They are control characters, line and paragraph separators, and the characters that change the
 * direction of text (Unicode Standard Annex 9). The expression needs the `u` flag.
 */
export const UNSHOWABLE = String.raw`\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069`

/**
 * Returns an expression for the characters to escape in JSON. It excludes line feeds: in JSON they
 * occur only between lines, never unescaped in a string.
 */
const unsafe = (): RegExp => (unsafeMade ??= new RegExp(String.raw`(?!\n)[${UNSHOWABLE}]`, 'gu'))
// A start does not need it, and V8 creates expressions with Unicode properties slowly.
let unsafeMade: RegExp | undefined

/** The maximum length of quoted text in UTF-16 code units. */
const LONGEST = 40

/**
 * Returns JSON that parses to the same value, with every terminal control character escaped.
 * @param indent the number of spaces for each level; if absent, the JSON is one line
 */
export const printableJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    unsafe(),
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Returns a text as a JSON string for a message, cut to 40 characters before escaping. */
export const inMessage = (text: string): string =>
  printableJson(text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1).toWellFormed()}…`)

/** The maximum length of a displayed name in code points. */
const LONGEST_NAME = 100

/**
 * Returns a foreign name for a page. It has no characters that must not be displayed, at most 100
 * code points, and at most four combining marks in a row, because more would cover other lines.
 */
export function displayedName(name: string): string {
  // A code point has at most two code units.
  const start = name.slice(0, 2 * LONGEST_NAME).toWellFormed()
  const shown = start
    .replace(new RegExp(`[${UNSHOWABLE}]`, 'gu'), '')
    .replace(/(\p{M}{4})\p{M}+/gu, '$1')
  const points = Array.from(shown)
  const isCut = start.length < name.length || points.length > LONGEST_NAME
  return isCut ? `${points.slice(0, LONGEST_NAME - 1).join('')}…` : shown
}
