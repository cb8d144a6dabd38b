/**
 * The secrets of connections and guest codes, sealed under the cache key. This table never contains
 * a plaintext secret.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'

interface SecretRow {
  readonly id: string
  readonly version: number
  readonly sealed: Uint8Array
}

export type SecretRows = ReturnType<typeof secretRows>

/**
 * Returns the statements for the rows of sealed records.
 * @param added called in the transaction in which a record with a new id is stored
 */
export function secretRows(db: DatabaseSync, added: (id: string) => void = () => undefined) {
  const put = statement(
    db,
    `insert into secrets (id, version, sealed) values (?, ?, ?)
     on conflict do update set version = excluded.version, sealed = excluded.sealed`,
  )
  const get = statement<SecretRow>(db, 'select * from secrets where id = ?')
  const remove = statement(db, 'delete from secrets where id = ?')
  const ids = statement<{ id: string }>(db, 'select id from secrets order by id')
  return {
    /** Stores or replaces a record. */
    put(row: SecretRow): void {
      transaction(db, () => {
        const isNew = get.get(row.id) === null
        put.run(row.id, row.version, row.sealed)
        if (isNew) added(row.id)
      })
    },
    get: (id: string): SecretRow | null => get.get(id),
    /** Deletes a record; returns whether it existed. */
    delete: (id: string): boolean => remove.run(id) > 0,
    ids: (): string[] => ids.all().map((row) => row.id),
  }
}
