/**
 * Text from elsewhere inside a message: one line, of limited length, without control characters.
 */

/** Characters that JSON leaves as they are and that move a cursor or reorder what is read. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g
/** In UTF-16 code units. */
const LONGEST = 40

/**
 * The value as JSON that parses to the same, with every character escaped that a terminal obeys.
 * @param indent spaces for each level; without it, one line
 */
export const printableJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/**
 * A text as a message quotes it: a JSON string of at most 40 characters before they are escaped.
 */
export const quoted = (text: string): string =>
  printableJson(text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1).toWellFormed()}…`)
