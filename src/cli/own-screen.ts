/**
 * Shows a secret on the alternate screen of a terminal, which has no scrollback and is cleared when
 * the program leaves it. A file or a dumb terminal gets the text alone.
 */
import { COLOUR_MARK } from './colour.ts'
import type { Io } from './command.ts'

const ENTER = `${COLOUR_MARK}[?1049h${COLOUR_MARK}[2J${COLOUR_MARK}[H`
const LEAVE = `${COLOUR_MARK}[?1049l`

/** Shows a text until the work is done. */
export async function onOwnScreen<T>(
  { stderr, env }: Pick<Io, 'stderr' | 'env'>,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  const isApart = stderr.isTTY === true && env['TERM'] !== 'dumb'
  stderr.write(isApart ? ENTER + text : text)
  try {
    return await work()
  } finally {
    if (isApart) stderr.write(LEAVE)
  }
}
