/**
 * A SQLite file that is created complete, and rejected if it is no longer complete. SQLite treats a
 * very short file as a new database, which would hide the loss of everything. A rejected file is
 * left unchanged, so that its data can still be recovered.
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

const hasBytes = (path: string): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0

/**
 * Whether the database has a write-ahead log without an index, as a copy may. A read-only
 * connection cannot open it then.
 */
export const isWithoutIndex = (path: string): boolean =>
  hasBytes(`${path}-wal`) && !existsSync(`${path}-shm`)

/**
 * Opens a database for reading, without a trace: nothing is written, created or locked, also while
 * a daemon writes.
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

/** Bytes of the smallest page of SQLite, which treats a shorter file as a new database. */
export const SMALLEST = 512

/**
 * Returns the error for a damaged database.
 * @param cause the error of SQLite; none for a file that is cut short
 */
export function damaged(path: string, cause?: Error): StartError {
  const why = cause === undefined ? 'it is incomplete' : cause.message
  return new StartError(
    'failed',
    `${path} is damaged (${why}). Restore the state folder from a backup, or move the whole folder away to start over.`,
    cause,
  )
}

/** Whether an error is SQLite's for a damaged file. */
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
 * Creates the database if it is missing, under another name until it is complete. Inspects an
 * existing one over a read-only connection, which leaves every file as it is: a writing one moves
 * the write-ahead log into the file when it closes.
 * @param fill writes the content of the new database
 * @param look throws for a database that must not be opened
 * @throws StartError for a file that is cut short, or deleted; and the errors of SQLite and
 *   node:fs
 */
export function prepareFile(
  path: string,
  of: { fill: (db: DatabaseSync) => void; look: (db: DatabaseSync) => void },
): void {
  // SQLite keeps the write-ahead log beside the target of a link.
  if (existsSync(path)) inspect(realpathSync(path), of.look)
  else create(path, of.fill)
}

/**
 * Whether the file ends within a page. SQLite treats half a page as a whole one and fails only
 * when it reads that page. A crash leaves such a file only while the write-ahead log still has
 * the page.
 */
function isCutInPage(path: string, db: DatabaseSync, size: number): boolean {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  const page = (db.prepare('pragma page_size').get() as { page_size: number }).page_size
  return size % page !== 0 && (log === undefined || log.size === 0)
}

function inspect(path: string, look: (db: DatabaseSync) => void): void {
  const { size } = statSync(path)
  if (size < SMALLEST) throw damaged(path)
  // SQLite creates the index of the write-ahead log if it is missing.
  const makesIndex = isWithoutIndex(path)
  const db = makesIndex ? new DatabaseSync(path, { readOnly: true }) : openReadOnly(path)
  try {
    look(db)
    if (isCutInPage(path, db, size)) throw damaged(path)
  } finally {
    db.close()
    if (makesIndex) rmSync(`${path}-shm`, { force: true })
  }
}

/**
 * The error for a missing database in a folder that was in use. A new one would hide the loss.
 */
export const lost = (path: string): StartError =>
  new StartError(
    'failed',
    `${path} is missing, although this is not the first start. Restore the state folder from a backup, or move the whole folder away to start over.`,
  )

function create(path: string, fill: (db: DatabaseSync) => void): void {
  // SQLite deletes the write-ahead log on close, and would otherwise apply an old one to the new
  // file.
  if (existsSync(`${path}-wal`)) throw lost(path)
  const temporary = `${path}.tmp`
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(temporary + suffix, { force: true })
  // SQLite gives its log the mode of the database, and creates the database with the mode that
  // the umask allows.
  closeSync(openSync(temporary, 'wx', 0o600))
  const db = new DatabaseSync(temporary)
  try {
    fill(db)
    // Set here, because a crash during a later change of mode would leave a journal, which a
    // read-only connection cannot roll back.
    db.exec('pragma journal_mode = wal')
  } finally {
    db.close()
  }
  renameSync(temporary, path)
  syncFolder(dirname(path))
}
