/** Deletes the secrets of a state folder. No other process may have the folder open. */
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { secretNames } from '../device/identity/own-keys.ts'
import { forgetSecrets } from '../keychain/keychain.ts'
import { RESTORING } from '../storage/folder.ts'

/** Returns the token ids in a state folder's database; an empty list if there is no database. */
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
 * Returns the token ids, or an empty list if the database cannot be read. In that case, all other
 * secrets are still deleted.
 */
function knownTokens(dir: string): string[] {
  try {
    return tokensIn(dir)
  } catch {
    return []
  }
}

/**
 * Returns a state folder and, if a restore was interrupted, the staging folder inside it. Symbolic
 * links are not followed.
 */
export function foldersOf(dir: string): string[] {
  const staging = join(dir, RESTORING)
  const isThere = lstatSync(staging, { throwIfNoEntry: false })?.isDirectory() === true
  return isThere ? [dir, staging] : [dir]
}

/**
 * Deletes every secret of a state folder from the operating system's keychain. After an interrupted
 * restore, the keychain record may be in one folder and the database in the other. So the secret
 * names from both folders are deleted for each keychain record.
 * @throws StartError `keychain` or AppError `keychain_locked` if the secrets cannot be deleted
 */
export async function forgetStored(dir: string): Promise<void> {
  const folders = foldersOf(dir)
  const names = () => secretNames(new Set(folders.flatMap(knownTokens)))
  for (const folder of folders) await forgetSecrets(folder, names)
}
