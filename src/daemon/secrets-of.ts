/** The secrets that belong to a state folder which nobody else has open, for whoever removes them. */
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { secretNames } from '../device/identity/secret-names.ts'
import { forgetSecrets } from '../keychain/keychain.ts'
import { RESTORING } from '../storage/folder-contents.ts'

/** Of an account that was never made there are none. */
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

/** Of a database that cannot be read the tokens are not known; what else there is goes all the same. */
function knownTokens(dir: string): string[] {
  try {
    return tokensIn(dir)
  } catch {
    return []
  }
}

/** A state folder, and what a restore that was cut off has in it. Links are not followed. */
export function foldersOf(dir: string): string[] {
  const staging = join(dir, RESTORING)
  const isThere = lstatSync(staging, { throwIfNoEntry: false })?.isDirectory() === true
  return isThere ? [dir, staging] : [dir]
}

/**
 * Remove every secret of a state folder from the operating system's keychain. A restore that was cut off may have the record of the
 * keychain in one folder and the database in the other: each record is gone through with the names of both.
 * @throws StartError `keychain`, AppError `keychain_locked` when they cannot be removed
 */
export async function forgetStored(dir: string): Promise<void> {
  const folders = foldersOf(dir)
  const names = () => secretNames(new Set(folders.flatMap(knownTokens)))
  for (const folder of folders) await forgetSecrets(folder, names)
}
