/** Names and labels inside the quotation marks of a sentence. */

/** Quotation marks, and letters that look like them. */
const MARKS =
  /["\u02ba\u05f4\u201c-\u201f\u2033\u2036\u275b-\u275e\u3003\u301d-\u301f\uff02\u{1f676}-\u{1f678}]/gu

/**
 * Returns the name in double quotes, with its own double quotes replaced by single ones.
 * Otherwise a name such as `x" ("y"), Mum` would end its quotation and read as a part of the
 * sentence around it.
 */
export const inQuotes = (name: string): string => `"${withoutQuotes(name)}"`

/** Returns the name with single quotes for double ones, for a sentence that does not quote it. */
export const withoutQuotes = (name: string): string => name.replace(MARKS, "'")
