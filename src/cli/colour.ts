/**
 * Colours for terminals. They only repeat what the words express.
 * Output that is not a terminal, NO_COLOR (no-color.org) and a dumb terminal disable colours.
 * FORCE_COLOR enables them, for a pager for instance.
 */
import { randomBytes } from 'node:crypto'

/** Select Graphic Rendition (ECMA-48 section 8.3.117). */
const SGR = { red: 31, yellow: 33, green: 32 } as const
const DEFAULT = 39

export type Colour = keyof typeof SGR

/**
 * Stands for the ESC of the program’s own sequences (colours, alternate screen) until it is
 * written.
 * It is random, so that no text from another source can contain it.
 */
export const COLOUR_MARK = `\u001b${randomBytes(8).toString('hex')}`

/** The stream of a text and the environment, which decide about colours. */
export interface Paper {
  readonly stream: { readonly isTTY?: boolean }
  readonly env: NodeJS.ProcessEnv
}

function takesColour({ stream, env }: Paper): boolean {
  const { FORCE_COLOR: forced = '', NO_COLOR: refused = '', TERM } = env
  // As in Node itself, FORCE_COLOR has priority over the other settings.
  if (forced !== '') return forced !== '0' && forced !== 'false'
  return stream.isTTY === true && refused === '' && TERM !== 'dumb'
}

/**
 * Returns a text in a colour if the stream accepts colours. `harmlessIo` writes the marks as ESC.
 */
export const coloured = (colour: Colour, text: string, paper: Paper): string =>
  takesColour(paper) ? `${COLOUR_MARK}[${SGR[colour]}m${text}${COLOUR_MARK}[${DEFAULT}m` : text
