/** Shows notices of this device after an operation that may have added some. */
import type { Invocation } from './command.ts'
import { shown } from './table.ts'

/**
 * Writes the notices of this device to standard error, a line each. Throws the daemon’s errors.
 */
export async function showNotices({ io, withApi }: Pick<Invocation, 'io' | 'withApi'>) {
  const { notices } = await withApi((api) => api.status.read({}))
  for (const notice of notices) io.stderr.write(`${shown(notice)}\n`)
}
