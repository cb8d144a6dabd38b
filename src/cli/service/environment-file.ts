/** Parses an environment file as systemd does. Rejects every line that is ambiguous. */
import { StartError } from '../../errors.ts'

// Only the white space of systemd counts: no other space of Unicode, no byte order mark.
const LINE = /^[ \t]*([^=]*?)[ \t]*=[ \t]*([^]*?)[ \t]*$/
const QUOTED = /^(["'])([^"'\\]*)\1$/
/** Matches a quoted value that ends on its line, with any content. */
const CLOSED = /^(?:"(?:[^"\\]|\\[^])*"|'[^'\\]*')$/

function textOf(content: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return null
  }
}

/** Returns the value of a line; null if it cannot be parsed with certainty. */
function valueOf(raw: string): string | null {
  const quoted = QUOTED.exec(raw)
  if (quoted !== null) return quoted[2] ?? ''
  return /^["']|\\/.test(raw) ? null : raw
}

/** Returns whether a line continues on the next one, or may do so. */
const isOpen = (line: string, raw: string) =>
  line.endsWith('\\') || (/^["']/.test(raw) && !CLOSED.test(raw))

/**
 * Returns the values of some variables (systemd.exec(5), EnvironmentFile=). The last line of a
 * name counts.
 * @param path for the message, which contains no value
 * @throws StartError configuration for a line that cannot be parsed with certainty
 */
export function fromEnvironmentFile(
  content: Uint8Array,
  names: readonly string[],
  path: string,
): NodeJS.ProcessEnv {
  const found: NodeJS.ProcessEnv = {}
  const doubt = (at: number) =>
    new StartError(
      'configuration',
      `Line ${at + 1} of ${path} is ambiguous, so the state folder of the service is not known. ` +
        'Write SVC_STATE_DIR=/its/folder on a line of its own in that file, and every other value on one line. Then run this command again.',
    )
  const text = textOf(content)
  if (text === null || text.includes('\0')) throw doubt(0)
  for (const [at, line] of text.split(/\r\n|\n|\r/).entries()) {
    const [, name, raw = ''] = LINE.exec(line) ?? []
    if (isOpen(line, raw)) throw doubt(at)
    if (/^[ \t]*([#;]|$)/.test(line)) continue
    if (name !== undefined && names.includes(name)) {
      const value = valueOf(raw)
      if (value === null) throw doubt(at)
      found[name] = value
    } else if (names.some((known) => new RegExp(`(^|\\W)${known}(\\W|$)`).test(name ?? line)))
      throw doubt(at)
  }
  return found
}
