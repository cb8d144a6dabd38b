/**
 * Makes the output of commands harmless for a terminal, in one place.
 * Names, mail addresses, answers of an account server and the header of a backup come from other
 * sources, and a terminal interprets control characters in them.
 */
import { printableJson, UNSHOWABLE } from '../crypto/encoding/quoted.ts'
import { COLOUR_MARK } from './colour.ts'
import type { Io } from './command.ts'

/**
 * Matches the characters that a terminal interprets or that reorder text (Unicode’s bidirectional
 * controls). Line feeds, tabs, the sequences with `COLOUR_MARK`, and the carriage return that
 * redraws the progress bar are kept.
 */
const OBEYED = new RegExp(
  String.raw`${COLOUR_MARK}|^\r(?!\n)|\r(?=\n)|(?![\n\t])[${UNSHOWABLE}]`,
  'gu',
)

/** Returns a text with U+FFFD in place of each character that a terminal would interpret. */
const harmless = (text: string): string =>
  text.replace(OBEYED, (found, at: number) => {
    if (found === COLOUR_MARK) return '\u001b'
    if (found !== '\r') return '�'
    return text[at + 1] === '\n' ? '' : at === 0 ? found : '�'
  })

/**
 * Returns a value as JSON of several lines. Escapes each character that a terminal would
 * interpret.
 */
export const jsonText = (value: unknown): string => printableJson(value, 2)

const through = (stream: Io['stdout']): Io['stdout'] => ({
  write: (text) => stream.write(harmless(text)),
  ...(stream.isTTY === undefined ? {} : { isTTY: stream.isTTY }),
})

/** Returns the streams of a command with all output made harmless. */
export const harmlessIo = ({ stdout, stderr, stdin, env, machine }: Io): Io => ({
  stdout: through(stdout),
  stderr: through(stderr),
  stdin,
  env,
  ...(machine === undefined ? {} : { machine }),
})
