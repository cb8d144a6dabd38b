/**
 * A file of SQLite that comes into being whole, and that is refused when it is not whole any more: SQLite takes a short one for a
 * new database, and hides so that everything is lost. What is refused is left as it is, for whoever can still save something.
 */
import { type Stats, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartError } from '../errors.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { isDiskFault, isFull, isResult } from './sqlite.ts'

/** Bytes of the smallest page of SQLite, which takes a shorter file for a new database. */
export const SMALLEST = 512
const BUSY_MS = 5000

/** @param cause what SQLite says */
export function damaged(path: string, cause?: Error): StartError {
  const why = cause === undefined ? 'it is cut short' : cause.message
  return new StartError(
    'failed',
    `${path} is damaged (${why}). Restore the state folder from a backup, or move the whole folder away to begin anew.`,
    cause,
  )
}

/** Whether SQLite says so. */
export const isDamage = (cause: unknown): cause is Error =>
  isResult(cause, 'notADatabase') || isResult(cause, 'corrupt')

/** @param cause what SQLite or node:fs says, which is no damage */
export function unopened(path: string, cause: unknown): StartError {
  const { message } = cause as Error
  const disk = isDiskFault(cause) ? 'The disk may be full, failing or read-only. ' : ''
  return new StartError(
    'failed',
    isFull(cause)
      ? `The disk is full: ${path} cannot be opened. Make room, then start again.`
      : `${path} cannot be opened (${message}). ${disk}Check its permissions and the disk.`,
    cause,
  )
}

/**
 * Make the database where there is none, under another name until it is complete; look at one that is there by a connection that
 * may not write, since one that may moves the write-ahead log into the file when it closes.
 * @param fill writes something into the new one
 * @param look throws for one that is not to be opened
 * @throws StartError for one that is cut short, or is gone; and what SQLite and node:fs throw
 */
export function prepareFile(
  path: string,
  of: { fill: (db: DatabaseSync) => void; look: (db: DatabaseSync) => void },
): void {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) create(path, of.fill)
  else inspect(path, stat, of.look)
}

/** SQLite takes half a page for one, and misses it when it is read. A crash leaves one only where the log still has it. */
function isCutInPage(path: string, db: DatabaseSync, size: number): boolean {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  const page = (db.prepare('pragma page_size').get() as { page_size: number }).page_size
  return size % page !== 0 && (log === undefined || log.size === 0)
}

function inspect(path: string, { size }: Stats, look: (db: DatabaseSync) => void): void {
  if (size < SMALLEST) throw damaged(path)
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
  try {
    look(db)
    if (isCutInPage(path, db, size)) throw damaged(path)
  } finally {
    db.close()
  }
}

/** There was one, and a new one would hide that. */
export const lost = (path: string): StartError =>
  new StartError(
    'failed',
    `${path} is gone, and this is no first start. Restore the state folder from a backup, or move the whole folder away to begin anew.`,
  )

function create(path: string, fill: (db: DatabaseSync) => void): void {
  // Its write-ahead log goes when it is closed, and would be taken for that of the new one.
  if (existsSync(`${path}-wal`)) throw lost(path)
  const temporary = `${path}.tmp`
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(temporary + suffix, { force: true })
  // SQLite gives its log the mode of the database, and it makes that one as open as the umask allows.
  closeSync(openSync(temporary, 'wx', 0o600))
  const db = new DatabaseSync(temporary)
  try {
    fill(db)
    // Later, a crash on the way to it would leave a journal, which a connection that may not write cannot take back.
    db.exec('pragma journal_mode = wal')
  } finally {
    db.close()
  }
  renameSync(temporary, path)
  syncFolder(dirname(path))
}

/** The error for what protocol 1 wrote: no program reads both. */
export const ofProtocol1 = (what: string, version: number): StartError =>
  new StartError(
    'stateOlder',
    `${what} was written by a countersignd of protocol 1 (version ${version}; this program reads later ones), and was left as it is. ` +
      'Begin anew with another SVC_STATE_DIR, and another SVC_DATABASE_URL where one is set: keys and connections of protocol 1 cannot be brought over.',
  )
