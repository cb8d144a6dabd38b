/**
 * The folder of scheduled backups, and the files in it.
 *
 * A file marks the folder. If the disk of the folder is not mounted, the folder may still exist,
 * but the mark is missing, so that no backup is written to the wrong disk.
 */
import { lstatSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { StartError } from '../../errors.ts'
import { requireFolder } from '../commands/session/machine-key-file.ts'

const markOf = (folder: string, id: string) => join(folder, `.countersign-${id}`)

const TEXT =
  'countersignd writes its scheduled backups to this folder. Without this file, it writes none here.\n'

const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** Whether a folder is another one or in it. A path on another drive of Windows stays absolute. */
function isWithin(folder: string, other: string): boolean {
  const way = relative(other, folder)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Returns an absolute path, without links if it exists and can be reached. */
function withoutLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

/**
 * Returns the absolute path of a folder that scheduled backups can use.
 * @param given a path, which may contain links
 * @param stateDir the state folder of the daemon that makes the backups
 * @throws StartError
 */
export function requireBackupFolder(given: string, stateDir: string): string {
  const folder = resolve(given)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new StartError(
      'failed',
      `There is no folder ${folder}. If it is on another disk, mount the disk; or else create the folder.`,
    )
  if (isWithin(realpathSync(folder), withoutLinks(stateDir)))
    throw new StartError(
      'failed',
      `${folder} is in the state folder, with which the backups would be lost. Name a folder elsewhere, best on another disk.`,
    )
  requireFolder(join(folder, 'backup'))
  return folder
}

/** Marks a folder for a schedule. */
export function markFolder(folder: string, id: string): void {
  if (!isThere(markOf(folder, id)))
    writeFileSync(markOf(folder, id), TEXT, { mode: 0o600, flag: 'wx' })
}

/** Removes the mark. It is not an error if the folder cannot be reached. */
export function unmarkFolder(folder: string, id: string): void {
  try {
    rmSync(markOf(folder, id), { force: true })
  } catch {
    // A mark without a schedule has no effect.
  }
}

/** @throws StartError if the folder does not have the mark */
export function requireMark(folder: string, id: string): void {
  if (isThere(markOf(folder, id))) return
  throw new StartError(
    'failed',
    isThere(folder)
      ? `${folder} does not have the file .countersign-${id}, so it is not the folder that was scheduled: its disk is probably not mounted. No backup was made. Mount the disk, or schedule the backups again.`
      : `There is no folder ${folder}. No backup was made. Mount its disk, or schedule the backups again.`,
  )
}

const prefixOf = (id: string) => `countersign-${id}-`

/** Returns the name of a new file. */
export const backupName = (id: string, now: Date): string =>
  `${prefixOf(id)}${now.toISOString().replace(/\.\d+/, '').replaceAll(':', '-')}.backup`

/**
 * Deletes the oldest files of a schedule, until only `keep` are left.
 * @param files the files that the schedule made, the oldest first
 * @returns the names that no longer exist
 */
export function deleteOldest(folder: string, files: readonly string[], keep: number): string[] {
  const isFile = (name: string) =>
    lstatSync(join(folder, name), { throwIfNoEntry: false })?.isFile() === true
  const existing = files.filter(isFile)
  const old = existing.slice(0, Math.max(0, existing.length - keep))
  for (const name of old) rmSync(join(folder, name), { force: true })
  return files.filter((name) => !existing.includes(name) || old.includes(name))
}

/** An incomplete file that was not written to for so long is of a backup that was killed. */
const KILLED_MS = 3_600_000

/**
 * Deletes the incomplete files of a schedule, which a killed backup leaves.
 * @param now Unix milliseconds
 */
export function deleteIncomplete(folder: string, id: string, now: number): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const isIncomplete = name.startsWith(prefixOf(id)) && name.endsWith('.part')
    if (isIncomplete && lstatSync(path).mtimeMs < now - KILLED_MS) rmSync(path, { force: true })
  }
}
