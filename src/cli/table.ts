/** Formats tables for terminals. Control characters in texts from other sources are replaced. */
import { beginningOf, isWholeId } from '../api/naming/beginnings.ts'
import { oneLine, unshowable } from '../crypto/encoding/quoted.ts'
import type { Io } from './command.ts'

/** The longest text in one line, in code points. A link or a sentence is shorter. */
const LONGEST_LINE = 2000
/** The longest text in a cell, in code points: it widens its column in each row. */
const LONGEST_CELL = 200

/**
 * Returns a text as one line of limited length, with the characters replaced that a terminal would
 * interpret.
 */
export const shown = (text: string): string => oneLine(text, LONGEST_LINE)

/**
 * Like `shown`, but for a text of several lines, or for a chunk of such a text.
 *
 * The line feed of a CR LF may be in the next chunk.
 */
export const shownText = (text: string): string =>
  text
    .replace(/\r(?=\n|$)/g, '')
    .replace(unshowable(), (found) => (found === '\n' || found === '\t' ? found : '�'))

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

/** The characters of an id that contain its time. An id that is not listed seldom has the same. */
const TIME_LENGTH = 10

/** Returns rows with the ids in their first cells shortened. */
function withBeginnings(rows: readonly (readonly string[])[]): string[][] {
  const sorted = [...new Set(rows.map(([id = '']) => id))].toSorted()
  const places = new Map(sorted.map((id, at) => [id, at]))
  const short = (id: string) => {
    const at = places.get(id) ?? 0
    // A beginning that neither neighbour has is one that no other id has.
    const neighbours = [sorted[at - 1], sorted[at + 1]].filter((one) => one !== undefined)
    return beginningOf(id, neighbours, TIME_LENGTH)
  }
  return rows.map(([id = '', ...more]) => [isWholeId(id) ? short(id) : id, ...more])
}

/**
 * Returns the lines of a table that has a heading. A column without any value is left out, and long
 * values are cut.
 * @param screen the output. If it is a terminal that is too narrow, ids in the first column are
 *   shortened
 */
export async function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  screen: Pick<Io['stdout'], 'isTTY' | 'columns'> = {},
): Promise<string[]> {
  const isUsed = (column: number) => rows.length === 0 || rows.some((row) => row[column] !== '')
  const used = (row: readonly string[]) => row.filter((_, column) => isUsed(column))
  const cells = rows.map((row) => used(row).map((cell) => oneLine(cell, LONGEST_CELL)))
  const headings = used(heading)
  const widthOf = await widthFor([...headings, ...cells.flat()])
  const widthsOf = (all: readonly (readonly string[])[]) =>
    headings.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))))
  const linesOf = (body: readonly (readonly string[])[]) => {
    const all = [headings, ...body]
    const widths = widthsOf(all)
    const padded = (cell: string, column: number) =>
      cell.padEnd(cell.length + (widths[column] ?? 0) - widthOf(cell))
    return all.map((row) => row.map(padded).join('  ').trimEnd())
  }
  const lines = linesOf(cells)
  const { isTTY = false, columns = Infinity } = screen
  const isWide = isTTY && lines.some((line) => widthOf(line) > columns)
  return isWide ? linesOf(withBeginnings(cells)) : lines
}
