/** Tables for terminals. Control characters in texts from other sources are replaced. */
import { UNSHOWABLE } from '../crypto/encoding/quoted.ts'

/** The characters that a terminal interprets, or that reorder text. */
const OBEYED = new RegExp(`[${UNSHOWABLE}]`, 'gu')

/** Replaces the characters that a terminal would interpret. */
export const shown = (text: string): string => text.replace(OBEYED, '�')

/**
 * As `shown`, for a text of several lines or a chunk of one. The line feed of a CR LF may be in
 * the next chunk.
 */
export const shownText = (text: string): string =>
  text
    .replace(/\r(?=\n|$)/g, '')
    .replace(OBEYED, (found) => (found === '\n' || found === '\t' ? found : '�'))

/** Returns the start of a text in one line, 40 characters at most. */
export function brief(text: string): string {
  const characters = Array.from(text.replaceAll(/\s+/g, ' '))
  return characters.length <= 40 ? characters.join('') : `${characters.slice(0, 39).join('')}…`
}

/** Returns a function that returns how many columns of a terminal a text takes. */
async function widthFor(texts: readonly string[]): Promise<(text: string) => number> {
  if (texts.every((text) => /^[ -~]*$/.test(text))) return (text) => text.length
  const { default: stringWidth } = await import('string-width')
  return (text) => stringWidth(text)
}

/** Returns the lines of a table with a heading. */
export async function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<string[]> {
  const all = [heading, ...rows.map((row) => row.map(shown))]
  const widthOf = await widthFor(all.flat())
  const widths = heading.map((_, column) =>
    Math.max(...all.map((row) => widthOf(row[column] ?? ''))),
  )
  const padded = (cell: string, column: number) =>
    cell.padEnd(cell.length + (widths[column] ?? 0) - widthOf(cell))
  return all.map((row) => row.map(padded).join('  ').trimEnd())
}
