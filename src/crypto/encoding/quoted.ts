/** Quotes foreign text for a message: one line, of limited length, without control characters. */

/**
 * The characters that must not be displayed, as a character class without brackets.
 *
 * They are control characters, line and paragraph separators, and the characters that change the
 * direction of text (Unicode Standard Annex 9). The expression needs the `u` flag.
 */
export const UNSHOWABLE = String.raw`\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069`

/** Returns an expression for the characters that must not be displayed. */
export const unshowable = (): RegExp => (unshowableMade ??= new RegExp(`[${UNSHOWABLE}]`, 'gu'))
let unshowableMade: RegExp | undefined

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

/** Returns a text with at most four combining marks in a row: more would cover other lines. */
export const withFewMarks = (text: string): string =>
  /^[ -~]*$/.test(text) ? text : text.replace(/(\p{M}{4})\p{M}+/gu, '$1')

/** Returns a text of at most `most` code points, with few combining marks in a row. */
export function bounded(text: string, most: number): string {
  // A code point has at most two code units.
  const start = text.length <= 2 * most ? text : text.slice(0, 2 * most).toWellFormed()
  const points = Array.from(withFewMarks(start))
  const isCut = start.length < text.length || points.length > most
  return isCut ? `${points.slice(0, most - 1).join('')}…` : points.join('')
}

/** The maximum length of a displayed name in code points. */
const LONGEST_NAME = 100

/**
 * Returns a foreign name for a page or a sentence. It has no characters that must not be displayed,
 * at most four combining marks in a row, and at most `most` code points.
 */
export const displayedName = (name: string, most = LONGEST_NAME): string =>
  bounded(name.toWellFormed().replace(unshowable(), ''), most)

/**
 * Returns a foreign text as one line of at most `most` code points, with U+FFFD in place of each
 * character that must not be displayed.
 */
export const oneLine = (text: string, most: number): string =>
  bounded(text.replace(unshowable(), '\ufffd'), most)

/** Like `displayedName`, but for a text of several lines: line feeds and tabs are kept. */
export const displayedText = (text: string, most: number): string =>
  bounded(text.toWellFormed().replace(new RegExp(`(?![\n\t])[${UNSHOWABLE}]`, 'gu'), ''), most)
