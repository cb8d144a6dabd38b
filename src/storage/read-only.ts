/**
 * A SQLite database looked at without a trace: nothing is written, made, or locked against others,
 * also while a daemon writes.
 */
import { existsSync, lstatSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

const PATIENCE_MS = 1000

const hasBytes = (path: string): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0

/**
 * Whether it has a write-ahead log and no index of it, as a copy may: then nobody reads it who may
 * not write.
 */
export const isWithoutIndex = (path: string): boolean =>
  hasBytes(`${path}-wal`) && !existsSync(`${path}-shm`)

/**
 * Open a database to read. Throws what node:sqlite throws, and for what is no regular file, which
 * could hold up whoever opens it.
 * @param path of a file that is there
 */
export function openReadOnly(path: string): DatabaseSync {
  if (!lstatSync(path).isFile()) throw new TypeError(`${path} is not a regular file.`)
  const url = pathToFileURL(path)
  // Without a write-ahead log nobody has it open: SQLite would make one for a reader, and leave it
  // there. With one, its index is mapped to read alone (sqlite.org/uri.html,
  // sqlite.org/wal.html#read_only_databases).
  url.search = hasBytes(`${path}-wal`) ? 'mode=ro&readonly_shm=1' : 'mode=ro&immutable=1'
  return new DatabaseSync(url, { readOnly: true, timeout: PATIENCE_MS })
}
