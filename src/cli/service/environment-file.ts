/** A settings file as systemd reads it, as far as that is beyond doubt: what could mean something else is refused, never guessed. */
import { StartError } from '../../errors.ts'

// Blank is what systemd takes for it: no other space of Unicode, no byte order mark.
const LINE = /^[ \t]*([^=]*?)[ \t]*=[ \t]*([^]*?)[ \t]*$/
const QUOTED = /^(["'])([^"'\\]*)\1$/
/** A quoted value that ends on its line, whatever stands in it. */
const CLOSED = /^(?:"(?:[^"\\]|\\[^])*"|'[^'\\]*')$/

function textOf(content: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return null
  }
}

/** The value of a line; null where it takes more than this to tell. */
function valueOf(raw: string): string | null {
  const quoted = QUOTED.exec(raw)
  if (quoted !== null) return quoted[2] ?? ''
  return /^["']|\\/.test(raw) ? null : raw
}

/** Whether a line goes on in the next one, or could. */
const isOpen = (line: string, raw: string) =>
  line.endsWith('\\') || (/^["']/.test(raw) && !CLOSED.test(raw))

/**
 * The values of some variables (systemd.exec(5), EnvironmentFile=); the last line of a name counts.
 * @param path for the message; no value is in it
 * @throws StartError configuration for a line that cannot be read with certainty
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
      `Line ${at + 1} of ${path} cannot be read with certainty, and so not which state folder the service has. ` +
        'Write there SVC_STATE_DIR=/its/folder, on a line of its own, every other value on one line, too, and run this again.',
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
