/**
 * The secrets of a state folder. Deletes them, and finds damaged sealed secrets in a backup. A
 * sealed secret is damaged if the backup's vault key cannot decrypt it. No other process may have
 * the folder open.
 */
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ID_PREFIX, isId } from '../crypto/encoding/id.ts'
import { readFacts } from '../device/identity/identity.ts'
import { markRestored, secretNames } from '../device/identity/own-keys.ts'
import { openVault } from '../device/identity/vault.ts'
import type { Keychain } from '../keychain/backend.ts'
import { forgetSecrets } from '../keychain/keychain.ts'
import { SCHEDULED_PASSPHRASE, forgetSchedule } from '../state/backup-schedule.ts'
import { metaRows } from '../state/meta.ts'
import { secretRows } from '../state/secrets.ts'
import { RESTORING } from '../storage/folder.ts'
import { guarded, transaction } from '../storage/sqlite.ts'

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
  const names = () => [...secretNames(new Set(folders.flatMap(knownTokens))), SCHEDULED_PASSPHRASE]
  for (const folder of folders) await forgetSecrets(folder, names)
}

const KINDS = {
  connection: ID_PREFIX.connection,
  guest_code: ID_PREFIX.guest,
  public_code: ID_PREFIX.account,
} as const

/** A sealed secret that cannot be decrypted. */
export interface LostSecret {
  /** The secret's id in the backup. If `kind` is `unknown`, it may be any text. */
  readonly id: string
  readonly kind: keyof typeof KINDS | 'unknown'
}

export interface SealedSecrets {
  /** How many sealed secrets the backup has. */
  readonly sealed_secrets: number
  readonly lost_secrets: readonly LostSecret[]
}

const kindOf = (id: string): LostSecret['kind'] =>
  (Object.keys(KINDS) as (keyof typeof KINDS)[]).find((kind) => isId(KINDS[kind], id)) ?? 'unknown'

/**
 * Tries to decrypt every sealed secret in `state.db`.
 * @throws AppError `keychain_locked` if there are sealed secrets and `keychain` has no vault key
 */
export function trySecrets(keychain: Keychain, db: DatabaseSync): SealedSecrets {
  const rows = secretRows(db)
  const vault = openVault(keychain, rows)
  const ids = rows.ids()
  const lost = ids.filter((id) => vault.find(id) === null)
  return {
    sealed_secrets: ids.length,
    lost_secrets: lost.map((id) => ({ id, kind: kindOf(id) })),
  }
}

/**
 * Marks the device's keys in a restored `state.db` as restored, and deletes damaged secrets. No
 * process may have the database open. A sync fetches only secrets that the device does not have, so
 * a damaged secret that remained would never be replaced.
 * @throws AppError storage_full
 */
export function changeRestored(path: string, damaged: readonly LostSecret[]): void {
  guarded(() => {
    const db = new DatabaseSync(path)
    try {
      const [rows, meta] = [secretRows(db), metaRows(db)]
      transaction(db, () => {
        if (readFacts({ meta }) !== null) markRestored({ meta })
        // The passphrase is not in the backup, and the folder was one of the other machine.
        forgetSchedule({ meta })
        for (const { id } of damaged) rows.delete(id)
      })
    } finally {
      db.close()
    }
  })
}
