/**
 * Public sealing keys of devices, as the account server sent them beside key logs. Callers check
 * each against the hash in the log before they store it. A missing one can be requested again.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'

export type SealKeyRows = ReturnType<typeof sealKeyRows>

/** Returns the statements for the rows of sealing keys, by account and by key id. */
export function sealKeyRows(db: DatabaseSync) {
  const insert = statement(
    db,
    'insert into seal_keys (account, id, key) values (?, ?, ?) on conflict do nothing',
  )
  const get = statement<{ key: Uint8Array }>(
    db,
    'select key from seal_keys where account = ? and id = ?',
  )
  const ids = statement<{ id: string }>(db, 'select id from seal_keys where account = ?')
  const remove = statement(db, 'delete from seal_keys where account = ? and id = ?')
  return {
    /** Returns the 1,216 bytes of a key; null if it is unknown here. */
    get: (account: string, id: string): Uint8Array | null => get.get(account, id)?.key ?? null,
    /** Stores the keys of an account that are new. */
    add(account: string, keys: ReadonlyMap<string, Uint8Array>): void {
      transaction(db, () => {
        for (const [id, key] of keys) insert.run(account, id, key)
      })
    },
    /** Deletes the keys of an account that are not in `wanted`. */
    forgetOthers(account: string, wanted: ReadonlySet<string>): void {
      transaction(db, () => {
        for (const { id } of ids.all(account)) if (!wanted.has(id)) remove.run(account, id)
      })
    },
  }
}
