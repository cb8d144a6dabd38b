/** Tables for terminals. Control characters in texts from other sources are replaced. */
import { UNSHOWABLE } from '../crypto/encoding/unshowable.ts'

const OBEYED = new RegExp(`[${UNSHOWABLE}]`, 'gu')
const OBEYED_IN_TEXT = new RegExp(String.raw`(?![\n\t])[${UNSHOWABLE}]`, 'gu')

/** Replaces the characters that a terminal would interpret. */
export const shown = (text: string): string => text.replace(OBEYED, '�')

/**
 * As `shown`, for a text of several lines or a chunk of one. The line feed of a CR LF may be in
 * the next chunk.
 */
export const shownText = (text: string): string =>
  text.replace(/\r(?=\n|$)/g, '').replace(OBEYED_IN_TEXT, '�')

/** Returns the start of a text in one line, 40 characters at most. */
export function brief(text: string): string {
  const characters = Array.from(text.replaceAll(/\s+/g, ' '))
  return characters.length <= 40 ? characters.join('') : `${characters.slice(0, 39).join('')}…`
}

/** Returns the lines of a table with a heading. */
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
