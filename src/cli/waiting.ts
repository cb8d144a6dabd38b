/** Reports a long wait, so that the user does not assume that the command hangs. */
import type { Io } from './command.ts'

const PATIENCE_MS = 3_000

/**
 * Returns a function that awaits answers. It writes a message once if an answer takes more than
 * three seconds.
 */
export function newWaiting({ stderr }: Pick<Io, 'stderr'>) {
  let said = false
  const say = () => {
    if (!said) stderr.write('Waiting for the account server …\n')
    said = true
  }
  return async <T>(answer: Promise<T>): Promise<T> => {
    const timer = setTimeout(say, PATIENCE_MS)
    try {
      return await answer
    } finally {
      clearTimeout(timer)
    }
  }
}
