/** Removes the secrets of a state folder that no other process has open. */
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { secretNames } from '../device/identity/own-keys.ts'
import { forgetSecrets } from '../keychain/keychain.ts'
import { RESTORING } from '../storage/folder.ts'

/** Returns the ids of the tokens of a state folder; none if its account was never created. */
function tokensIn(dir: string): string[] {
  const path = join(dir, 'state.db')
  if (!existsSync(path)) return []
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    const rows = db.prepare('select id from tokens').all() as { id: string }[]
    const begun = db.prepare(`select value from meta where key = 'token_begun'`).get()
    const value = begun === undefined ? [] : [JSON.parse(String(begun['value'])) as string]
    return [...rows.map(({ id }) => id), ...value]
  } finally {
    db.close()
  }
}

/**
 * Returns the ids of the tokens, or none if the database cannot be read. All other secrets are
 * removed in both cases.
 */
function knownTokens(dir: string): string[] {
  try {
    return tokensIn(dir)
  } catch {
    return []
  }
}

/**
 * Returns a state folder, and the folder of an interrupted restore in it. Links are not followed.
 */
export function foldersOf(dir: string): string[] {
  const staging = join(dir, RESTORING)
  const isThere = lstatSync(staging, { throwIfNoEntry: false })?.isDirectory() === true
  return isThere ? [dir, staging] : [dir]
}

/**
 * Removes every secret of a state folder from the operating system's keychain. After an
 * interrupted restore, the record of the keychain may be in one folder and the database in the
 * other, so the names of both are used with each record.
 * @throws StartError `keychain`, AppError `keychain_locked` if they cannot be removed
 */
export async function forgetStored(dir: string): Promise<void> {
  const folders = foldersOf(dir)
  const names = () => secretNames(new Set(folders.flatMap(knownTokens)))
  for (const folder of folders) await forgetSecrets(folder, names)
}
