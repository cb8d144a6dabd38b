/**
 * The state folder, and the names of the files that this program creates in it.
 *
 * The folder is created private. It is rejected if another user could read it, change it or replace
 * it. A backup omits the files that it does not need, and a removal deletes only the files named
 * here.
 */
import { type Stats, lstatSync, mkdirSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { SETTINGS_FILE } from '../config/settings-files.ts'
import { StartError } from '../errors.ts'
import { fileFault, hasModes, isMissing } from '../keychain/private-file.ts'

/** With less free space on the disk of a state folder, in bytes, writes can fail at any time. */
export const LEAST_FREE_BYTES = 5_000_000

/** Creates the folder if it is missing, checks it, and sets the umask of this process to 0077. */
export function openFolder(dir: string): void {
  if (hasModes) process.umask(0o077)
  // `resolve` removes a trailing slash, with which lstat would follow a link.
  const path = resolve(dir)
  const stat = statOf(path) ?? make(path)
  if (stat.isSymbolicLink()) {
    throw unsafe(`${path} is a link. Set SVC_STATE_DIR to the folder itself.`)
  }
  if (!stat.isDirectory()) {
    throw unsafe(`${path} is not a folder. Move it away, or set SVC_STATE_DIR to another place.`)
  }
  const found = folderFault(stat, path)
  if (found !== null) throw unsafe(found)
}

/** The remedy for a folder that is unfit as a state folder and may belong to other programs. */
export const OWN_FOLDER = 'Choose a folder of its own with SVC_STATE_DIR.'

/**
 * Returns what is wrong with the owner or mode of a state folder, and the remedy; or null.
 *
 * The remedy changes the mode only of a folder that this program filled. Other programs may need
 * the mode of any other folder, such as /tmp.
 */
export const folderFault = (stat: Stats, path: string): string | null =>
  isFilledHere(path) ? fileFault(stat, path) : fileFault(stat, path, OWN_FOLDER)

function statOf(path: string) {
  try {
    return lstatSync(path)
  } catch (cause) {
    if (isMissing(cause)) return null
    throw unreachable(path, cause)
  }
}

function make(path: string) {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return lstatSync(path)
  } catch (cause) {
    throw unreachable(path, cause)
  }
}

const unsafe = (message: string): StartError => new StartError('stateUnsafe', message)

const unreachable = (path: string, cause: unknown): StartError =>
  new StartError(
    'failed',
    `The state folder ${path} cannot be opened or created (${(cause as NodeJS.ErrnoException).code}). ` +
      'Check the path and its permissions, or set SVC_STATE_DIR to another place.',
    cause,
  )

/** The folder of an unfinished restore. The daemon does not start while the folder exists. */
export const RESTORING = 'restoring'
/**
 * The lock file. It must be deleted last, because it keeps other processes from starting in the
 * folder.
 */
export const LOCK = 'lock.db'
/** Whether a name is the lock file, or the journal that SQLite keeps while the lock is held. */
const isLock = (name: string) => name === LOCK || name === `${LOCK}-journal`

/** SQLite's file names, and this program's names for temporary files and copies of a database. */
const DATABASE = String.raw`(state|account|lock)\.db(-wal|-shm|-journal|(\.copy|\.v\d+\.backup)?(\.tmp(-journal|-wal|-shm)?)?)?`
const WHOLE = String.raw`(keychain\.json|keychain\.key|runtime\.json|secret|console\.html)(\.tmp)?`
const OTHER = String.raw`audit(-\d{12})?\.jsonl|keyring-\d+\.node`

const FILES = new RegExp(`^(${DATABASE}|${WHOLE}|${OTHER})$`)

/** Subfolders, and the names of the files in each. `mailToFiles` chooses the names of letters. */
const FOLDERS: Readonly<Record<string, RegExp>> = {
  keychain: /\.sealed(\.tmp)?$/,
  mail: /^([\dTZ-]{24}-[\da-z]{26}\.eml|\.[\da-f]{16}\.tmp)$/,
}

/** The folder with what `login` set aside: a complete state folder for each account. */
export const SET_ASIDE = 'set-aside'

/** Whether this program gives this name to an entry of a state folder. */
export const isOwnName = (name: string): boolean =>
  FILES.test(name) || Object.hasOwn(FOLDERS, name) || name === RESTORING || name === SET_ASIDE

/**
 * Whether this program filled a folder: it contains files of this program, and no files or folders
 * of others. The settings file is the operator's, who writes it for this program.
 */
export function isFilledHere(dir: string): boolean {
  try {
    const entries = readdirSync(dir, { withFileTypes: true }).filter(
      (entry) => entry.isFile() || entry.isDirectory(),
    )
    return (
      entries.length > 0 && entries.every(({ name }) => isOwnName(name) || name === SETTINGS_FILE)
    )
  } catch {
    return false
  }
}

/** Whether a restore into this folder was interrupted. */
export const isRestoring = (dir: string): boolean =>
  lstatSync(join(dir, RESTORING), { throwIfNoEntry: false }) !== undefined

/**
 * Returns the names in a folder except the lock and the settings file, which may be there before
 * the first start; an empty list if the folder does not exist.
 */
export function contentsOf(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => !isLock(name) && name !== SETTINGS_FILE)
  } catch (cause) {
    if (isMissing(cause)) return []
    throw cause
  }
}

/**
 * Deletes the files of a folder that `isOurs` accepts, and then the folder if it is empty.
 *
 * Links are not followed.
 */
function empty(folder: string, isOurs: (name: string) => boolean): string[] {
  const left: string[] = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isFile() && isOurs(entry.name)) unlinkSync(path)
    else left.push(path)
  }
  if (left.length === 0) rmdirSync(folder)
  return left
}

/**
 * Deletes the files that this program created in a state folder, except the lock. The settings file
 * stays, and is not among the paths that remain.
 *
 * Only the lock owner may call this.
 * @returns the paths that remain, because other programs created them
 * @throws the errors of node:fs; files that were already deleted stay deleted
 */
export function removeContents(dir: string): string[] {
  const left: string[] = []
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const { name } = entry
    const path = join(dir, name)
    const files = Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : undefined
    if (isLock(name) || name === SETTINGS_FILE) continue
    if (entry.isDirectory() && name === RESTORING) left.push(...removeStaging(path))
    else if (entry.isDirectory() && files !== undefined)
      left.push(...empty(path, (file) => files.test(file)))
    else if (entry.isFile() && FILES.test(name)) unlinkSync(path)
    else left.push(path)
  }
  return left
}

/** Deletes the folder of an unfinished restore, which has the layout of a state folder. */
function removeStaging(path: string): string[] {
  const left = removeContents(path)
  if (left.length === 0) rmdirSync(path)
  return left
}
