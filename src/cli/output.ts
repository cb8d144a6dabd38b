/**
 * What commands write, made harmless for a terminal in one place: names, mail addresses, answers of
 * an account server and what a backup says of itself come from elsewhere, and a terminal obeys the
 * control characters in them.
 */
import { printableJson } from '../crypto/encoding/quoted.ts'
import { COLOUR_MARK } from './colour.ts'
import type { Io } from './command.ts'

/**
 * Everything that a terminal obeys, or that turns around what is read (Unicode's bidirectional
 * controls): kept are line feeds, tabs, the sequences with the `COLOUR_MARK`, and the carriage return with
 * which the progress bar begins again.
 */
const OBEYED = new RegExp(
  String.raw`${COLOUR_MARK}|^\r(?!\n)|\r(?=\n)|(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]`,
  'gu',
)

/** A text with U+FFFD in the place of what a terminal would obey. */
const harmless = (text: string): string =>
  text.replace(OBEYED, (found, at: number) => {
    if (found === COLOUR_MARK) return '\u001b'
    if (found !== '\r') return '�'
    return text[at + 1] === '\n' ? '' : at === 0 ? found : '�'
  })

/** A value as JSON of several lines, with every character escaped that a terminal obeys. */
export const jsonText = (value: unknown): string => printableJson(value, 2)

const through = (stream: Io['stdout']): Io['stdout'] => ({
  write: (text) => stream.write(harmless(text)),
  ...(stream.isTTY === undefined ? {} : { isTTY: stream.isTTY }),
})

/** The streams of a command, with everything written to them made harmless. */
export const harmlessIo = ({ stdout, stderr, stdin, env, machine }: Io): Io => ({
  stdout: through(stdout),
  stderr: through(stderr),
  stdin,
  env,
  ...(machine === undefined ? {} : { machine }),
})
