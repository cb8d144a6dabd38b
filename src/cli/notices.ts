/** Shows this device's notices after an operation that may have added some. */
import type { Invocation } from './command.ts'
import { shown } from './table.ts'

/**
 * Writes this device's notices to standard error, one per line.
 * @throws the errors of the daemon
 */
export async function showNotices({ io, withApi }: Pick<Invocation, 'io' | 'withApi'>) {
  const { notices } = await withApi((api) => api.status.read({}))
  for (const notice of notices) io.stderr.write(`${shown(notice)}\n`)
}
