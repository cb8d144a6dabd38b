/**
 * Sets the contents of a state folder aside, into a folder inside it that is itself a complete
 * state folder. Nothing is deleted, and the keychain record moves with the files, so that a daemon
 * with that folder as its state folder continues where the contents were left.
 *
 * A file names the target while files are moved. If a crash interrupts that, the next start moves
 * the rest.
 */
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { StartError } from '../errors.ts'
import { readPrivate, removeFile, syncFolder, writeAtomic } from '../keychain/private-file.ts'
import { LOCK, RESTORING, SET_ASIDE, isOwnName } from './folder.ts'

const moving = (dir: string) => join(dir, SET_ASIDE, 'moving')

/** Returns the path of the folder in which an account is set aside. */
export const setAsideFolder = (dir: string, account: string): string =>
  join(dir, SET_ASIDE, account)

const STAYS = new Set([LOCK, `${LOCK}-journal`, SET_ASIDE, RESTORING])

/**
 * Moves what an interrupted `setAside` left. The caller must own the lock of the folder.
 * @throws the errors of node:fs
 */
export function finishSettingAside(dir: string): void {
  const name = readPrivate(moving(dir))
  if (name === null) return
  const target = setAsideFolder(dir, basename(name.trim()))
  mkdirSync(target, { recursive: true, mode: 0o700 })
  for (const entry of readdirSync(dir))
    if (isOwnName(entry) && !STAYS.has(entry)) renameSync(join(dir, entry), join(target, entry))
  syncFolder(target)
  syncFolder(dir)
  removeFile(moving(dir))
}

/**
 * Sets the contents of a state folder aside. The caller must own the lock of the folder, and no
 * database in it may be open.
 * @param account the account that the contents belong to, which names the new folder
 * @returns the path of the new folder
 * @throws StartError `failed` if the new folder exists, and the errors of node:fs
 */
export function setAside(dir: string, account: string): string {
  const target = setAsideFolder(dir, account)
  if (existsSync(target))
    throw new StartError(
      'failed',
      `The account ${account} cannot be set aside, because ${target} exists. Nothing was changed. Move that folder elsewhere.`,
    )
  mkdirSync(join(dir, SET_ASIDE), { recursive: true, mode: 0o700 })
  writeAtomic(moving(dir), account)
  finishSettingAside(dir)
  return target
}
