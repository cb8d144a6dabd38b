/**
 * Makes the output of commands harmless for a terminal, in one place.
 * Names, mail addresses, answers of an account server and the header of a backup come from other
 * sources, and a terminal interprets control characters in them.
 */
import { printableJson } from '../crypto/encoding/quoted.ts'
import { COLOUR_MARK } from './colour.ts'
import type { Io } from './command.ts'
import { shownText } from './table.ts'

/**
 * Returns a text with U+FFFD in place of each character that a terminal would interpret. Kept are
 * the sequences with `COLOUR_MARK` and the carriage return that redraws the progress bar.
 */
function harmless(text: string): string {
  const redraws = /^\r(?!\n)/.test(text)
  const pieces = text.slice(redraws ? 1 : 0).split(COLOUR_MARK)
  return `${redraws ? '\r' : ''}${pieces.map(shownText).join('\u001b')}`
}

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
