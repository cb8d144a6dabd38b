/**
 * Finds damaged sealed secrets in a backup, and deletes them from the restored database. A sealed
 * secret is damaged if the backup's vault key cannot decrypt it.
 */
import { DatabaseSync } from 'node:sqlite'
import { ID_PREFIX, isId } from '../crypto/encoding/id.ts'
import { markRestored } from '../device/identity/own-keys.ts'
import { readFacts } from '../device/identity/identity.ts'
import { openVault } from '../device/identity/vault.ts'
import type { Keychain } from '../keychain/backend.ts'
import { metaRows } from '../state/meta.ts'
import { secretRows } from '../state/secrets.ts'
import { guarded, transaction } from '../storage/sqlite.ts'

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
        for (const { id } of damaged) rows.delete(id)
      })
    } finally {
      db.close()
    }
  })
}
