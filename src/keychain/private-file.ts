/**
 * Files that only this user may read or change.
 *
 * A file is replaced as a whole or not at all. It is read only if it is a regular file and not a
 * link, and if this user owns it and others have no access.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import type { Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError, StartError, isFullDisk } from '../errors.ts'

/**
 * Whether files have an owner and a mode. Windows has access control lists, which by default give
 * other users no access to the user's own folders.
 */
export const hasModes = process.platform !== 'win32'

const NOFOLLOW = hasModes ? constants.O_NOFOLLOW : 0
// Without this flag, opening a FIFO with the file's name would block forever.
const NONBLOCK = hasModes ? constants.O_NONBLOCK : 0

/** Returns what is wrong with an opened file and how to correct it; null if nothing is. */
export type FileCheck = (stat: Stats, path: string) => string | null

/** The suffix of a file that is being written. */
const TEMPORARY = '.tmp'

/**
 * Writes a file. After a crash, it has either the complete old or the complete new content.
 * @param how `durable`: whether the file must also survive a power failure, which takes
 *   milliseconds more; `mode`: the file mode, independent of the umask (default: 0600)
 */
export function writeAtomic(
  path: string,
  content: string | Uint8Array,
  { durable = true, mode = 0o600 }: { durable?: boolean; mode?: number } = {},
): void {
  const temporary = path + TEMPORARY
  try {
    // A crash left this file. There is only one writer, so the file is not in use.
    unlinkIfThere(temporary)
    const file = openSync(temporary, 'wx', mode)
    try {
      writeFileSync(file, content)
      if (hasModes) fchmodSync(file, mode)
      if (durable) fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
    if (durable) syncFolder(dirname(path))
  } catch (cause) {
    throw unwritten(path, temporary, cause as NodeJS.ErrnoException)
  }
}

const FAILING: readonly unknown[] = ['EROFS', 'EIO']

/** Returns the error for a failed write. Deletes the temporary file if possible. */
function unwritten(path: string, temporary: string, cause: NodeJS.ErrnoException): Error {
  try {
    unlinkIfThere(temporary)
  } catch {
    // The first error already describes the fault of the disk.
  }
  if (isFullDisk(cause))
    return new AppError(
      'storage_full',
      `The disk is full, so ${path} was not written. Free some space, then try again.`,
      {
        cause,
      },
    )
  if (FAILING.includes(cause.code))
    return new AppError(
      'storage_full',
      `Cannot write to ${path} (${cause.code}). Check the disk, and whether it is mounted read-write.`,
      { cause },
    )
  return cause
}

/** Deletes a file durably. Returns false if it did not exist. */
export function removeFile(path: string): boolean {
  if (!unlinkIfThere(path)) return false
  syncFolder(dirname(path))
  return true
}

// `rmSync` is not used, because its errors have no code.
function unlinkIfThere(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (cause) {
    if (isMissing(cause)) return false
    throw cause
  }
}

/**
 * Deletes the temporary files that a crash left in a folder. Only the folder's one writer may call
 * it.
 * @param names the names of the files that are written there; by default all files of the folder
 */
export function removeLeftovers(folder: string, names?: readonly string[]): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(TEMPORARY)) continue
    const name = entry.name.slice(0, -TEMPORARY.length)
    if (names === undefined || names.includes(name)) unlinkIfThere(join(folder, entry.name))
  }
}

/**
 * Reads a file as text; returns null if it does not exist.
 * @throws StartError if other users could have read or written it
 */
export const readPrivate = (path: string): string | null =>
  readPrivateBytes(path)?.toString('utf8') ?? null

/** Does the same as `readPrivate`, and returns the raw bytes. */
export const readPrivateBytes = (path: string): Buffer | null => readChecked(path, fileFault)

/**
 * Opens a regular file without following links, if `check` finds no fault.
 * @param flags the flags of open(2); a file that they create has mode 0600
 * @returns the file descriptor, which the caller must close
 * @throws StartError if the path is a link or not a regular file, or if `check` finds a fault;
 *   otherwise what node:fs throws
 */
export function openChecked(path: string, flags: number, check: FileCheck = fileFault): number {
  let file: number
  try {
    file = openSync(path, flags | NOFOLLOW | NONBLOCK, 0o600)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ELOOP') throw cause
    throw new StartError(
      'stateUnsafe',
      `${path} is a link. Replace it with the file itself.`,
      cause,
    )
  }
  try {
    const stat = fstatSync(file)
    const found = stat.isFile() ? check(stat, path) : `${path} is not a regular file. Move it away.`
    if (found !== null) throw new StartError('stateUnsafe', found)
    return file
  } catch (cause) {
    closeSync(file)
    throw cause
  }
}

/** Opens a file as `openChecked` does, and reads it; returns null if it does not exist. */
export function readChecked(path: string, check: FileCheck): Buffer | null {
  let file: number
  try {
    file = openChecked(path, constants.O_RDONLY, check)
  } catch (cause) {
    if (isMissing(cause)) return null
    throw cause
  }
  try {
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

/** Returns the command that closes a file or folder to other users. */
const closing = (stat: Stats, path: string) =>
  `Restrict it with: chmod ${stat.isDirectory() ? '700' : '600'} '${path}'`

/**
 * Returns what is wrong with a private file's or folder's owner or mode, and the remedy; or null.
 * @param remedy the remedy if other users have access (default: the command that ends it)
 */
export function fileFault(stat: Stats, path: string, remedy = closing(stat, path)): string | null {
  if (!hasModes) return null
  const me = process.geteuid?.()
  if (stat.uid !== me) {
    return `${path} belongs to user ${stat.uid}, but this is user ${me}. Run as its owner, or use another state folder.`
  }
  if ((stat.mode & 0o077) === 0) return null
  const mode = (stat.mode & 0o777).toString(8).padStart(4, '0')
  return `${path} is accessible to other users (mode ${mode}). ${remedy}`
}

/** Checks whether an error of `node:fs` means that the file does not exist. */
export const isMissing = (cause: unknown): boolean =>
  (cause as NodeJS.ErrnoException).code === 'ENOENT'

/**
 * Makes renames and deletions in a folder durable. Does nothing on Windows, which cannot open
 * folders.
 */
export function syncFolder(path: string): void {
  if (!hasModes) return
  const folder = openSync(path, constants.O_RDONLY)
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
