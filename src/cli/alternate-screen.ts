/**
 * Shows a secret on the alternate screen of a terminal.
 * That screen has no scrollback. The program clears it when it leaves it, also when a signal ends
 * the program.
 */
import { AppError } from '../errors.ts'
import { COLOUR_MARK } from './colour.ts'
import type { Io } from './command.ts'
import { canHide } from './prompt.ts'

const ENTER = `${COLOUR_MARK}[?1049h${COLOUR_MARK}[2J${COLOUR_MARK}[H`
const LEAVE = `${COLOUR_MARK}[?1049l`

/** Signals that end the program without restoring the terminal. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/**
 * Requires that a secret on standard error is shown on a screen and not written to a file.
 * @throws AppError invalid_state if standard error is not a terminal
 */
export function requireScreen({ stderr }: Pick<Io, 'stderr'>): void {
  if (stderr.isTTY !== true)
    throw new AppError(
      'invalid_state',
      'Standard error is redirected to a file or to another program, which would keep the words. Run the command again without redirecting standard error (2>), or use --page FILE to write the words to a page that you can print.',
    )
}

/**
 * Shows a text until the work is done.
 * @throws AppError as `requireScreen` does
 */
export async function onOwnScreen<T>(
  io: Pick<Io, 'stdin' | 'stderr' | 'env'>,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  const { stdin, stderr, env } = io
  requireScreen(io)
  // A dumb terminal has no alternate screen: the text stays in its scrollback.
  if (env['TERM'] === 'dumb') {
    stderr.write(text)
    return work()
  }
  const leave = () => void stderr.write(LEAVE)
  function end(signal: NodeJS.Signals): void {
    leave()
    if (canHide(stdin)) stdin.setRawMode(false)
    for (const one of SIGNALS) process.off(one, end)
    process.kill(process.pid, signal)
  }
  for (const signal of SIGNALS) process.on(signal, end)
  stderr.write(ENTER + text)
  try {
    return await work()
  } finally {
    leave()
    for (const signal of SIGNALS) process.off(signal, end)
  }
}
