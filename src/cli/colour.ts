/**
 * Colours for people. They only say again what the words say, and scripts never get them: where the output is no terminal, with
 * NO_COLOR (no-color.org) and on a terminal that is dumb, a text stays as it is; FORCE_COLOR brings them to a pager.
 */
import { styleText } from 'node:util'

export type Colour = 'red' | 'yellow' | 'green'

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

/** The text in a colour, where that is taken. */
export const coloured = (colour: Colour, text: string, paper: Paper): string =>
  takesColour(paper) ? styleText(colour, text, { validateStream: false }) : text
