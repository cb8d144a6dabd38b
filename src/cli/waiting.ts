/** A command that waits says for whom, so that nobody takes it for dead. */
import type { Io } from './command.ts'

const PATIENCE_MS = 3_000

/** Makes what waits for answers, and says so once when one takes more than three seconds. */
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
