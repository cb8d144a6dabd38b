/**
 * The secrets of a state folder that no other process has open: removes them, and finds those in a
 * backup that its vault key cannot open.
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
import { metaRows } from '../state/meta.ts'
import { secretRows } from '../state/secrets.ts'
import { RESTORING } from '../storage/folder.ts'
import { guarded, transaction } from '../storage/sqlite.ts'

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

const KINDS = {
  connection: ID_PREFIX.connection,
  guest_code: ID_PREFIX.guest,
  public_code: ID_PREFIX.account,
} as const

/** A sealed secret that is damaged. */
export interface LostSecret {
  /** The id in the backup: it may be any text if `kind` is `unknown`. */
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
 * Tries to open every sealed secret of `state.db`.
 * @throws AppError keychain_locked if there are some and `keychain` has no vault key
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
 * Changes a restored `state.db` that no process has open: marks the keys of the device as
 * restored, and deletes damaged records. A sync fetches only secrets that the device lacks, so a
 * damaged record would block its replacement.
 * @throws AppError storage_full
 */
export function changeRestored(path: string, damaged: readonly LostSecret[]): void {
  guarded(() => {
    const db = new DatabaseSync(path)
    try {
      const [rows, meta] = [secretRows(db), metaRows(db)]
      transaction(db, () => {
        if (readFacts({ meta }) !== null) markRestored({ meta })
        for (const { id } of damaged) rows.delete(id)
      })
    } finally {
      db.close()
    }
  })
}
