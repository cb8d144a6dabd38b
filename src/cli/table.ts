/** Columns for people. Text from elsewhere loses its control characters, which a terminal would obey. */

/** The text without what a terminal would take as a command. */
export const shown = (text: string): string =>
  text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '�')

/** The same for a text of several lines, or a piece of one: the second half of a line's end may be in the next. */
export const shownText = (text: string): string =>
  text
    .replace(/\r(?=\n|$)/g, '')
    .replace(/(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '�')

/** As much of a text as a column has room for, in one line. */
export function brief(text: string): string {
  const characters = Array.from(text.replaceAll(/\s+/g, ' '))
  return characters.length <= 40 ? characters.join('') : `${characters.slice(0, 39).join('')}…`
}

/** Lines of a table with a heading. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [heading, ...rows.map((row) => row.map(shown))]
  const widths = heading.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
