/** Foreign text inside a message: one line, of limited length, without control characters. */

/**
 * The class, without brackets, of characters that are not displayed: control characters, line and
 * paragraph separators, and the controls and isolates that change the direction of text (Unicode
 * Standard Annex 9). For an expression with the `u` flag.
 */
export const UNSHOWABLE = String.raw`\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069`

/** The line feeds in JSON are those between its lines. */
const UNSAFE = new RegExp(String.raw`(?!\n)[${UNSHOWABLE}]`, 'gu')
/** In UTF-16 code units. */
const LONGEST = 40

/**
 * Returns the value as JSON that parses to the same value, with every terminal control character
 * escaped.
 * @param indent spaces for each level; without it, one line
 */
export const printableJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/**
 * Returns a text quoted for a message: a JSON string of at most 40 characters before escaping.
 */
export const inMessage = (text: string): string =>
  printableJson(text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1).toWellFormed()}…`)
