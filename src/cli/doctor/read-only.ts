/** A SQLite database looked at without a trace: nothing is written, made, or locked against others, also while a daemon writes. */
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

const PATIENCE_MS = 1000

const hasBytes = (path: string): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0

/**
 * Open a database to read. Throws what node:sqlite throws.
 * @param path of a file that is there
 */
export function openReadOnly(path: string): DatabaseSync {
  const url = pathToFileURL(path)
  // Without a write-ahead log nobody has it open: SQLite would make one for a reader, and leave it there.
  // With one, its index is mapped to read alone (sqlite.org/uri.html, sqlite.org/wal.html#read_only_databases).
  url.search = hasBytes(`${path}-wal`) ? 'mode=ro&readonly_shm=1' : 'mode=ro&immutable=1'
  return new DatabaseSync(url, { readOnly: true, timeout: PATIENCE_MS })
}
