/**
 * The lines of an environment file, as systemd reads them.
 *
 * Only a part of systemd's syntax is read: a line that systemd could read in another way than a
 * person is marked as ambiguous.
 * @see systemd.exec(5), EnvironmentFile=
 */

/** One line that is neither empty nor a comment. */
export interface EnvironmentLine {
  /** The number of the line, from 1. */
  readonly line: number
  /** The text before the first `=`; null if the line has no `=`. */
  readonly name: string | null
  /** The value; null if it is ambiguous. */
  readonly value: string | null
  /** Whether the line continues on the next line, or could. Also of a comment. */
  readonly isOpen: boolean
  readonly text: string
}

// Only the white space that systemd recognises is skipped: no other Unicode space, no byte order
// mark.
const LINE = /^[ \t]*([^=]*?)[ \t]*=[ \t]*([^]*?)[ \t]*$/
const EMPTY = /^[ \t]*([#;]|$)/
const QUOTED = /^(["'])([^"'\\]*)\1$/
/** Matches a quoted value that ends on the same line, with any content. */
const CLOSED = /^(?:"(?:[^"\\]|\\[^])*"|'[^'\\]*')$/

function textOf(content: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

/** Returns the value in a line; null if it cannot be parsed unambiguously. */
function valueOf(raw: string): string | null {
  const quoted = QUOTED.exec(raw)
  if (quoted !== null) return quoted[2] ?? ''
  return /^["']|\\/.test(raw) ? null : raw
}

/** Returns the lines of an environment file; null if it is not UTF-8 text. */
export function environmentLines(content: Uint8Array): readonly EnvironmentLine[] | null {
  const text = textOf(content)
  if (text === null) return null
  return text.split(/\r\n|\n|\r/).flatMap((line, at) => {
    const [, name = null, raw = ''] = LINE.exec(line) ?? []
    const isOpen = line.endsWith('\\') || (/^["']/.test(raw) && !CLOSED.test(raw))
    if (!isOpen && EMPTY.test(line)) return []
    return [{ line: at + 1, name, value: name === null ? null : valueOf(raw), isOpen, text: line }]
  })
}
