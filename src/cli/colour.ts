/**
 * Colours for people. They only say again what the words say, and scripts never get them: where the output is no terminal, with
 * NO_COLOR (no-color.org) and on a terminal that is dumb, a text stays as it is; FORCE_COLOR brings them to a pager.
 */
import { randomBytes } from 'node:crypto'

/** Select Graphic Rendition (ECMA-48 section 8.3.117). */
const SGR = { red: 31, yellow: 33, green: 32 } as const
const DEFAULT = 39

export type Colour = keyof typeof SGR

/**
 * Stands for the ESC of the program's own sequences until it is written: colours, and a screen of its own. It is
 * random, so that no text from elsewhere can contain it.
 */
export const COLOUR_MARK = `\u001b${randomBytes(8).toString('hex')}`

/** Where a text goes, as far as it matters here. */
export interface Paper {
  readonly stream: { readonly isTTY?: boolean }
  readonly env: NodeJS.ProcessEnv
}

function takesColour({ stream, env }: Paper): boolean {
  const { FORCE_COLOR: forced = '', NO_COLOR: refused = '', TERM } = env
  // As Node itself: who forces them has said so last.
  if (forced !== '') return forced !== '0' && forced !== 'false'
  return stream.isTTY === true && refused === '' && TERM !== 'dumb'
}

/** The text in a colour, where that is taken. `harmlessIo` writes the marks as ESC. */
export const coloured = (colour: Colour, text: string, paper: Paper): string =>
  takesColour(paper) ? `${COLOUR_MARK}[${SGR[colour]}m${text}${COLOUR_MARK}[${DEFAULT}m` : text
