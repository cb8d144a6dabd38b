/** Names and labels inside the quotation marks of a sentence. */

/** Quotation marks, and letters that look like them. */
const MARKS = /["\u201c-\u201f\u2033\u2036\u301d-\u301f\uff02]/g

/**
 * The name in double quotes, its own double quotes as single ones. Without that a name such as
 * `x" ("y"), Mum` would end its quotation and read as a part of the sentence around it.
 */
export const inQuotes = (name: string): string => `"${withoutQuotes(name)}"`

/** The name with its double quotes as single ones, for a sentence that does not quote it. */
export const withoutQuotes = (name: string): string => name.replace(MARKS, "'")
