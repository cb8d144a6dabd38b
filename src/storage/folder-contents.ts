/**
 * What this program makes in a state folder, by name: a backup needs none of the rest, and whoever removes it takes these and nothing
 * else.
 */
import { lstatSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { isMissing } from '../keychain/private-file.ts'

/** A folder of what is being restored. While it is there, nothing starts. */
export const RESTORING = 'restoring'
/** It is the last to go: while it is held, nobody else begins anything. */
export const LOCK = 'lock.db'
/** SQLite lays a journal beside it for as long as it is held. */
const isLock = (name: string) => name === LOCK || name === `${LOCK}-journal`

/** SQLite's own, and ours: a file that is written, a copy, and a copy that is written. */
const DATABASE = String.raw`(state|account|lock)\.db(-wal|-shm|-journal|(\.copy|\.v\d+\.backup)?(\.tmp(-journal|-wal|-shm)?)?)?`
const WHOLE = String.raw`(keychain\.json|keychain\.key|runtime\.json|secret)(\.tmp)?`
const OTHER = String.raw`audit(-\d{12})?\.jsonl|keyring-\d+\.node`

const FILES = new RegExp(`^(${DATABASE}|${WHOLE}|${OTHER})$`)

/** Folders, and the files in each. Letters are named by `mailToFiles`. */
const FOLDERS: Readonly<Record<string, RegExp>> = {
  keychain: /\.sealed(\.tmp)?$/,
  mail: /^([\dTZ-]{24}-[\da-z]{26}\.eml|\.[\da-f]{16}\.tmp)$/,
}

/** Whether a restore into this folder was cut off. */
export const isRestoring = (dir: string): boolean =>
  lstatSync(join(dir, RESTORING), { throwIfNoEntry: false }) !== undefined

/** What else than the lock is in a folder, which may not be there. */
export function contentsOf(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => !isLock(name))
  } catch (cause) {
    if (isMissing(cause)) return []
    throw cause
  }
}

/** Remove the files of a folder that are named so, and the folder itself when it is empty then. Links are not followed. */
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
 * Remove what this program made in a state folder, except for the lock. Only its holder may.
 * @returns the paths of what is left, since somebody else made it
 * @throws what node:fs throws; what was removed by then stays so
 */
export function removeContents(dir: string): string[] {
  const left: string[] = []
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const { name } = entry
    const path = join(dir, name)
    const files = Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : undefined
    if (isLock(name)) continue
    if (entry.isDirectory() && name === RESTORING) left.push(...removeStaging(path))
    else if (entry.isDirectory() && files !== undefined)
      left.push(...empty(path, (file) => files.test(file)))
    else if (entry.isFile() && FILES.test(name)) unlinkSync(path)
    else left.push(path)
  }
  return left
}

/** What was being restored lies there as in a state folder. */
function removeStaging(path: string): string[] {
  const left = removeContents(path)
  if (left.length === 0) rmdirSync(path)
  return left
}
