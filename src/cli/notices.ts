/** What the person should look at on this device, after work that may have found it. */
import type { Invocation } from './command.ts'
import { shown } from './table.ts'

/** Writes the notices of this device to standard error, a line each. Throws what the daemon throws. */
export async function showNotices({ io, withApi }: Pick<Invocation, 'io' | 'withApi'>) {
  const { notices } = await withApi((api) => api.status.read({}))
  for (const notice of notices) io.stderr.write(`${shown(notice)}\n`)
}
