/**
 * What commands write: colours, and output that cannot harm a terminal.
 *
 * Names, mail addresses, answers of an account server and the header of a backup come from other
 * sources. A terminal would interpret control characters in them.
 */
import { randomBytes } from 'node:crypto'
import { printableJson } from '../crypto/encoding/quoted.ts'
import type { Io } from './command.ts'
import { shownText } from './table.ts'

/** Codes of Select Graphic Rendition (ECMA-48 section 8.3.117). */
const SGR = { red: 31, yellow: 33, green: 32 } as const
const DEFAULT = 39

export type Colour = keyof typeof SGR

let mark: string | undefined
/**
 * Returns the mark that stands for ESC in the program's own sequences (colours, alternate screen)
 * until they are written.
 *
 * It is random, so that text from another source cannot contain it. It is created at its first use,
 * because loading node:crypto is a tenth of a start.
 */
export const escapeMark = (): string => (mark ??= `\u001b${randomBytes(8).toString('hex')}`)

/** The stream and the environment, which determine whether a text is coloured. */
interface Paper {
  readonly stream: { readonly isTTY?: boolean }
  readonly env: NodeJS.ProcessEnv
}

function takesColour({ stream, env }: Paper): boolean {
  const { FORCE_COLOR: forced = '', NO_COLOR: refused = '', TERM } = env
  // As in Node itself, FORCE_COLOR takes precedence over the other settings.
  if (forced !== '') return forced !== '0' && forced !== 'false'
  return stream.isTTY === true && refused === '' && TERM !== 'dumb'
}

/**
 * Returns a text in a colour if the stream accepts colours. A colour must only repeat what the text
 * states.
 *
 * Output that is not a terminal, NO_COLOR (no-color.org) and a dumb terminal disable colours.
 * FORCE_COLOR enables them, for example for a pager. The text has
 * `escapeMark()` in place of ESC; `harmlessIo` writes ESC for it.
 */
export const coloured = (colour: Colour, text: string, paper: Paper): string =>
  takesColour(paper) ? `${escapeMark()}[${SGR[colour]}m${text}${escapeMark()}[${DEFAULT}m` : text

/** Select Graphic Rendition: white on black of the colour cube, which themes do not change. */
const BLACK_AND_WHITE = ['38;5;231;48;5;16', '39;49'] as const

/**
 * Returns lines in white on black if the stream is a terminal with colours.
 *
 * The colours are not an ornament but the content of a QR code, so NO_COLOR does not disable them.
 */
export function blackAndWhite(lines: readonly string[], { stream, env }: Paper): string[] {
  if (stream.isTTY !== true || env['TERM'] === 'dumb') return [...lines]
  const [on, off] = BLACK_AND_WHITE.map((code) => `${escapeMark()}[${code}m`)
  return lines.map((line) => `${on}${line}${off}`)
}

/**
 * Returns a text with U+FFFD in place of each character that a terminal would interpret.
 *
 * The sequences with `escapeMark()`, and the carriage return that redraws the progress bar, are
 * kept.
 */
function harmless(text: string): string {
  const redraws = /^\r(?!\n)/.test(text)
  const rest = text.slice(redraws ? 1 : 0)
  const pieces = mark === undefined ? [rest] : rest.split(mark)
  return `${redraws ? '\r' : ''}${pieces.map(shownText).join('\u001b')}`
}

/**
 * Returns a value as JSON on several lines.
 *
 * Each character that a terminal would interpret is escaped.
 */
export const jsonText = (value: unknown): string => printableJson(value, 2)

const through = (stream: Io['stdout']): Io['stdout'] => ({
  write: (text) => stream.write(harmless(text)),
  ...(stream.isTTY === undefined ? {} : { isTTY: stream.isTTY }),
  ...(stream.columns === undefined ? {} : { columns: stream.columns }),
})

/** Returns a command's streams, with all output made harmless. */
export const harmlessIo = (streams: Io): Io => ({
  stdout: through(streams.stdout),
  stderr: through(streams.stderr),
  // Read when a command needs it: most commands never do, and Node creates it at the first read.
  get stdin() {
    return streams.stdin
  },
  env: streams.env,
  ...(streams.machine === undefined ? {} : { machine: streams.machine }),
})
