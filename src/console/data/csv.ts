/** Tables as CSV for spreadsheets. */

/** A cell that begins with one of these characters would be a formula. */
const FORMULA = /^[\s=+\-@]/
/**
 * What would begin a formula inside a cell, for spreadsheets that separate cells at these
 * characters.
 */
const INNER_FORMULA = /(?<=[;\t\r\n]\s*)[=+\-@]/g

function cellOf(value: string): string {
  const text = (FORMULA.test(value) ? `'${value}` : value).replaceAll(INNER_FORMULA, "'$&")
  return /[",\r\n;\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/**
 * Returns rows as CSV, with a byte order mark, which spreadsheets need to read it as UTF-8.
 * @see RFC 4180
 */
export const csvOf = (rows: readonly (readonly string[])[]): string =>
  `\u{feff}${rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')}`
