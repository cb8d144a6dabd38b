/**
 * Reads a SQLite database without a trace. It writes, creates and locks nothing, also while a
 * daemon writes.
 */
import { existsSync, lstatSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

const PATIENCE_MS = 1000

const hasBytes = (path: string): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0

/**
 * Whether the database has a write-ahead log without an index, as a copy may. A read-only
 * connection cannot open it then.
 */
export const isWithoutIndex = (path: string): boolean =>
  hasBytes(`${path}-wal`) && !existsSync(`${path}-shm`)

/**
 * Opens a database for reading.
 * @param path of an existing file
 * @throws the errors of node:sqlite, and TypeError for anything but a regular file, since
 *   opening it could block
 */
export function openReadOnly(path: string): DatabaseSync {
  if (!lstatSync(path).isFile()) throw new TypeError(`${path} is not a regular file.`)
  const url = pathToFileURL(path)
  // Without a write-ahead log no process has the database open: SQLite would create one for a
  // reader and leave it there. With one, its index is mapped read-only (sqlite.org/uri.html,
  // sqlite.org/wal.html#read_only_databases).
  url.search = hasBytes(`${path}-wal`) ? 'mode=ro&readonly_shm=1' : 'mode=ro&immutable=1'
  return new DatabaseSync(url, { readOnly: true, timeout: PATIENCE_MS })
}
