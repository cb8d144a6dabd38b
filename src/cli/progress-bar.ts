/** How far something is that takes long: a bar for whoever sits at the terminal, and nothing where nobody does. */
import { coloured } from './colour.ts'
import type { Io } from './command.ts'

const WIDTH = 30

export interface ProgressBar {
  /** `percent`: 0 to 100 */
  show(percent: number): void
  /** Leave the bar as it is, and go on below it. */
  end(): void
}

/**
 * @param of `quiet`: for a script, which wants no bar
 * @param what is done, as it stands before the bar
 */
export function newProgressBar(
  { stderr, env, quiet }: Pick<Io, 'stderr' | 'env'> & { quiet: boolean },
  what: string,
): ProgressBar {
  // A terminal that cannot go back to the beginning of a line would get a new one each time.
  if (quiet || stderr.isTTY !== true || env['TERM'] === 'dumb')
    return { show: () => undefined, end: () => undefined }
  let shown = ''
  return {
    show: (percent) => {
      const done = Math.floor((Math.min(Math.max(percent, 0), 100) / 100) * WIDTH)
      const bar =
        coloured('green', '#'.repeat(done), { stream: stderr, env }) + '-'.repeat(WIDTH - done)
      const line = `${what} [${bar}] ${String(Math.floor(percent)).padStart(3)} %`
      if (line !== shown) stderr.write(`\r${line}`)
      shown = line
    },
    end: () => {
      if (shown !== '') stderr.write('\n')
    },
  }
}
