/** Shows the progress of a long operation as a bar on a terminal; otherwise nothing. */
import { coloured } from './colour.ts'
import type { Io } from './command.ts'

const WIDTH = 30

export interface ProgressBar {
  /** @param percent 0 to 100 */
  show(percent: number): void
  /** Leaves the bar in place and continues on the next line. */
  end(): void
}

/**
 * Returns a progress bar.
 * @param quiet whether the output is for a script, which needs no bar
 * @param what the operation, shown before the bar
 */
export function newProgressBar(
  { stderr, env, quiet }: Pick<Io, 'stderr' | 'env'> & { quiet: boolean },
  what: string,
): ProgressBar {
  // A terminal that cannot return to the start of a line would show a new line each time.
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
