/**
 * Opens a SQLite file that must be complete.
 *
 * A new file is complete before it gets its name. SQLite treats a very short file as a new
 * database, which would hide that everything was lost, so this module rejects it. A rejected file
 * is not changed, so that its data can still be recovered.
 */
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { StartError } from '../errors.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { isDiskFault, isFull, isResult } from './sqlite.ts'

const PATIENCE_MS = 1000

/**
 * The size of the header of a write-ahead log, in bytes.
 * @see https://sqlite.org/fileformat2.html#walformat
 */
const LOG_HEADER = 32

/**
 * Whether the write-ahead log of a database contains anything. A process that is killed may leave
 * only the header. With that, SQLite fails with SQLITE_PROTOCOL after ten seconds if it may not
 * write the index.
 */
const hasLog = (path: string): boolean =>
  (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > LOG_HEADER

/**
 * Whether a database has a write-ahead log without an index file, as a copy of it may.
 *
 * A read-only connection cannot open such a database.
 */
export const isWithoutIndex = (path: string): boolean => hasLog(path) && !existsSync(`${path}-shm`)

/**
 * Opens a database for reading. Nothing is written, created or locked.
 *
 * This works even while a daemon writes to the database.
 * @param path the path of an existing file
 * @throws the errors of node:sqlite, and TypeError if the path is not a regular file, because
 * opening it could block
 */
export function openReadOnly(path: string): DatabaseSync {
  if (!lstatSync(path).isFile()) throw new TypeError(`${path} is not a regular file.`)
  const url = pathToFileURL(path)
  // Without a write-ahead log, no process has the database open. `immutable` then keeps SQLite from
  // creating a log and leaving it there. With a log, the index is mapped read-only
  // (sqlite.org/uri.html, sqlite.org/wal.html#read_only_databases).
  url.search = hasLog(path) ? 'mode=ro&readonly_shm=1' : 'mode=ro&immutable=1'
  return new DatabaseSync(url, { readOnly: true, timeout: PATIENCE_MS })
}

/** The smallest page size of SQLite in bytes. SQLite treats a shorter file as a new database. */
export const SMALLEST = 512

/**
 * Returns the error for a damaged database.
 * @param cause SQLite's error; undefined if the file is too short
 */
export function damaged(path: string, cause?: Error): StartError {
  const why = cause === undefined ? 'it is incomplete' : cause.message
  return new StartError(
    'failed',
    `${path} is damaged (${why}). Restore the state folder from a backup, or move the whole folder away to start over.`,
    cause,
  )
}

/** Whether an error is SQLite's error for a damaged file. */
export const isDamage = (cause: unknown): cause is Error =>
  isResult(cause, 'notADatabase') || isResult(cause, 'corrupt')

/**
 * Returns the error for a database that cannot be opened although it is not damaged.
 * @param cause the error of SQLite or node:fs
 */
export function unopened(path: string, cause: unknown): StartError {
  const { message } = cause as Error
  const disk = isDiskFault(cause) ? 'The disk may be full, failing or read-only. ' : ''
  return new StartError(
    'failed',
    isFull(cause)
      ? `The disk is full, so ${path} cannot be opened. Free some space, then start again.`
      : `${path} cannot be opened (${message}). ${disk}Check its permissions and the disk.`,
    cause,
  )
}

/**
 * Creates a database if it is missing, and inspects it otherwise.
 *
 * A new database has a temporary name until it is complete. An existing one is inspected through a
 * read-only connection, which changes no file. A writing connection would move the write-ahead log
 * into the database when it closes.
 * @param of `fill`: writes the content of a new database; `check`: throws for a database that must
 * not be opened
 * @throws StartError if the file is too short or was deleted; and the errors of SQLite and node:fs
 */
export function prepareFile(
  path: string,
  of: { fill: (db: DatabaseSync) => void; check: (db: DatabaseSync) => void },
): void {
  // If the path is a link, SQLite keeps the write-ahead log next to the target of the link.
  if (existsSync(path)) inspect(realpathSync(path), of.check)
  else create(path, of.fill)
}

/**
 * Whether the file ends within a page.
 *
 * SQLite treats half a page as a whole one, and fails only when it reads that page. A crash can
 * leave such a file, but then the write-ahead log still contains the page.
 */
function isCutInPage(path: string, db: DatabaseSync, size: number): boolean {
  const page = (db.prepare('pragma page_size').get() as { page_size: number }).page_size
  return size % page !== 0 && !hasLog(path)
}

function inspect(path: string, check: (db: DatabaseSync) => void): void {
  const { size } = statSync(path)
  if (size < SMALLEST) throw damaged(path)
  // SQLite creates the index of the write-ahead log if it is missing.
  const makesIndex = isWithoutIndex(path)
  const db = makesIndex ? new DatabaseSync(path, { readOnly: true }) : openReadOnly(path)
  try {
    check(db)
    if (isCutInPage(path, db, size)) throw damaged(path)
  } finally {
    db.close()
    if (makesIndex) rmSync(`${path}-shm`, { force: true })
  }
}

/**
 * Returns the error for a missing database in a folder that was in use.
 *
 * Creating a new database would hide the loss.
 */
export const lost = (path: string): StartError =>
  new StartError(
    'failed',
    `${path} is missing, although this is not the first start. Restore the state folder from a backup, or move the whole folder away to start over.`,
  )

function create(path: string, fill: (db: DatabaseSync) => void): void {
  // SQLite deletes the write-ahead log when it closes a database. If a log exists, the database was
  // lost, and SQLite would apply the old log to the new file.
  if (existsSync(`${path}-wal`)) throw lost(path)
  const temporary = `${path}.tmp`
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(temporary + suffix, { force: true })
  // SQLite gives its log the mode of the database. If it created the database itself, the umask
  // would determine the mode.
  closeSync(openSync(temporary, 'wx', 0o600))
  const db = new DatabaseSync(temporary)
  try {
    fill(db)
    // Set the mode now. If a crash interrupted a later change of the mode, it would leave a journal
    // that a read-only connection cannot roll back.
    db.exec('pragma journal_mode = wal')
  } finally {
    db.close()
  }
  renameSync(temporary, path)
  syncFolder(dirname(path))
}
