import type { Api, Invocation } from '../../command.ts'
import { withDaemon } from '../../api.ts'
import { isInForeground } from '../../foreground.ts'
import { openPrompt } from '../../prompt.ts'
import { shown } from '../../table.ts'
import { chooseName } from './own-name.ts'

/**
 * Sets the name of an embedded account while its daemon, which this process runs, serves: the given
 * name, or at a terminal the answer to a question.
 * @param given the value of `--name`; undefined if the option was not given
 * @param onDeclined called if the user chooses to have no name
 * @returns a function that ends the question
 */
export function nameAtStart(
  { config, io, say }: Pick<Invocation, 'config' | 'io' | 'say'>,
  given: string | undefined,
  onDeclined: () => void,
): () => void {
  // Standard input that this process may not read counts as no terminal.
  const prompt = { ...openPrompt(io), isTerminal: io.stdin.isTTY === true && isInForeground() }
  const withApi = <T>(work: (api: Api, hasDaemon: boolean) => Promise<T>) =>
    withDaemon(config(), io, work)
  let hasEnded = false
  void chooseName({ io, say, withApi }, prompt, given)
    .then((isDeclined) => {
      if (isDeclined) onDeclined()
    })
    .catch((error: unknown) => {
      // Closing standard input fails the question.
      if (!hasEnded) io.stderr.write(`${shown((error as Error).message)}\n`)
    })
    // The system would stop a daemon that is put into the background and still reads.
    .finally(() => void prompt.close())
  return () => {
    hasEnded = true
    if (prompt.isTerminal) io.stdin.destroy?.()
  }
}
