/** Foreign text inside a message: one line, of limited length, without control characters. */

/** Characters that JSON leaves unescaped and that move a cursor or reorder the displayed text. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g
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
