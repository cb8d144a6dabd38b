/** Formats tables for terminals. Control characters in texts from other sources are replaced. */
import { UNSHOWABLE } from '../crypto/encoding/quoted.ts'

/**
 * Returns an expression for the characters that a terminal interprets, or that change the direction
 * of text.
 */
const obeyed = (): RegExp => (obeyedMade ??= new RegExp(`[${UNSHOWABLE}]`, 'gu'))
// A start does not need it, and V8 creates expressions with Unicode properties slowly.
let obeyedMade: RegExp | undefined

/** Returns a text with the characters replaced that a terminal would interpret. */
export const shown = (text: string): string => text.replace(obeyed(), '�')

/**
 * Like `shown`, but for a text of several lines, or for a chunk of such a text.
 *
 * The line feed of a CR LF may be in the next chunk.
 */
export const shownText = (text: string): string =>
  text
    .replace(/\r(?=\n|$)/g, '')
    .replace(obeyed(), (found) => (found === '\n' || found === '\t' ? found : '�'))

/** Returns the beginning of a text as one line of at most 40 characters. */
export function brief(text: string): string {
  const characters = Array.from(text.replaceAll(/\s+/g, ' '))
  return characters.length <= 40 ? characters.join('') : `${characters.slice(0, 39).join('')}…`
}

/**
 * Returns a name as an argument of a command, in quotes if it has spaces; the id if the name could
 * mean something else to a shell or to this program.
 */
export const typedName = ({ id, name }: { readonly id: string; readonly name: string }): string => {
  if (/^[\p{L}\p{N}][\p{L}\p{N}.@-]{0,39}$/u.test(name)) return name
  return /^[\p{L}\p{N}][\p{L}\p{N}.@ -]{0,39}$/u.test(name) ? `"${name}"` : id
}

/** Returns a function that returns the width of a text in columns of a terminal. */
async function widthFor(texts: readonly string[]): Promise<(text: string) => number> {
  if (texts.every((text) => /^[ -~]*$/.test(text))) return (text) => text.length
  const { default: stringWidth } = await import('string-width')
  return (text) => stringWidth(text)
}

/** Returns the lines of a table that has a heading. */
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
