/**
 * Files that only this user may read or change. A file is replaced whole or not at all, and it is read only when it
 * is what we wrote: a regular file, not a link, ours, closed to everybody else.
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

/** Windows has access lists instead of owner and mode; the user's own folders are closed to others there by default. */
export const hasModes = process.platform !== 'win32'

const NOFOLLOW = hasModes ? constants.O_NOFOLLOW : 0
// A fifo planted under the name would otherwise block the open for ever.
const NONBLOCK = hasModes ? constants.O_NONBLOCK : 0

/** What is wrong with a file that was opened, and the remedy; null if nothing. */
export type Check = (stat: Stats, path: string) => string | null

/** How the name of a file ends that is being written. */
const TEMPORARY = '.tmp'

/**
 * Writes a file: after a crash either the old content is there or the new one, complete.
 * @param how `durable` whether it outlives a power cut, too, which costs milliseconds; `mode` whatever the umask says, 0600 by default
 */
export function writeAtomic(
  path: string,
  content: string | Uint8Array,
  { durable = true, mode = 0o600 }: { durable?: boolean; mode?: number } = {},
): void {
  const temporary = path + TEMPORARY
  try {
    // Left over from a crash; there is one writer, so nobody is using it.
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

/** What the caller is told; nothing is left of the attempt, where the disk still lets go of anything. */
function unwritten(path: string, temporary: string, cause: NodeJS.ErrnoException): Error {
  try {
    unlinkIfThere(temporary)
  } catch {
    // The first error says what is wrong with the disk.
  }
  if (isFullDisk(cause))
    return new AppError('storage_full', `The disk is full: ${path} was not written. Make room.`, {
      cause,
    })
  if (FAILING.includes(cause.code))
    return new AppError(
      'storage_full',
      `The disk takes nothing (${cause.code}): ${path} was not written. Look after the disk.`,
      { cause },
    )
  return cause
}

/** Removes a file for good; false when there was none. */
export function removeFile(path: string): boolean {
  if (!unlinkIfThere(path)) return false
  syncFolder(dirname(path))
  return true
}

// Not rmSync, whose errors have no code.
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
 * Removes what a crash left of files that were being written in a folder. Only its one writer may.
 * @param names of the files that are written there; all that the folder has, where it is for nothing else
 */
export function removeLeftovers(folder: string, names?: readonly string[]): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(TEMPORARY)) continue
    const name = entry.name.slice(0, -TEMPORARY.length)
    if (names === undefined || names.includes(name)) unlinkIfThere(join(folder, entry.name))
  }
}

/** Reads a file as text; null when there is none; throws a StartError when others could have read or written it. */
export const readPrivate = (path: string): string | null =>
  readPrivateBytes(path)?.toString('utf8') ?? null

/** As `readPrivate`, the raw bytes. */
export const readPrivateBytes = (path: string): Buffer | null => readChecked(path, fault)

/**
 * Opens a regular file, no links followed, after `check` found no fault with what was opened.
 * @param flags of open(2); a file that they make has mode 0600
 * @returns its descriptor, which the caller closes
 * @throws StartError where it is a link, no regular file, or has a fault; else what node:fs throws
 */
export function openChecked(path: string, flags: number, check: Check = fault): number {
  let file: number
  try {
    file = openSync(path, flags | NOFOLLOW | NONBLOCK, 0o600)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ELOOP') throw cause
    throw new StartError('stateUnsafe', `${path} is a link. Replace it by the file itself.`, cause)
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

/** Reads a file that `openChecked` opens; null when there is none. */
export function readChecked(path: string, check: Check): Buffer | null {
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

/** What is wrong with the owner or the mode of something that must be ours alone, and the remedy; null if nothing. */
export function fault(stat: Stats, path: string): string | null {
  if (!hasModes) return null
  const me = process.geteuid?.()
  if (stat.uid !== me) {
    return `${path} belongs to user ${stat.uid}, this is user ${me}. Run as its owner, or use another state folder.`
  }
  if ((stat.mode & 0o077) === 0) return null
  const mode = (stat.mode & 0o777).toString(8).padStart(4, '0')
  const right = stat.isDirectory() ? '700' : '600'
  return `${path} is open to other users (mode ${mode}). Close it with: chmod ${right} '${path}'`
}

/** Whether an error of `node:fs` says that there is nothing under the name. */
export const isMissing = (cause: unknown): boolean =>
  (cause as NodeJS.ErrnoException).code === 'ENOENT'

/** Makes what was renamed or removed in a folder durable. Windows has no way to open a folder for it. */
export function syncFolder(path: string): void {
  if (!hasModes) return
  const folder = openSync(path, constants.O_RDONLY)
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
