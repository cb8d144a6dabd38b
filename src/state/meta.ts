/** Single values about this device, by name, stored as JSON. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export type MetaRows = ReturnType<typeof metaRows>

/** Returns the statements for the meta rows. The caller must know the type of the stored value. */
export function metaRows(db: DatabaseSync) {
  const get = statement<{ value: string }>(db, 'select value from meta where key = ?')
  const set = statement(
    db,
    'insert into meta values (?, ?) on conflict do update set value = excluded.value',
  )
  const remove = statement(db, 'delete from meta where key = ?')
  const removeUpTo = statement(
    db,
    'delete from meta where substr(key, 1, length(?1)) = ?1 and cast(value as integer) <= ?2',
  )
  return {
    /** Returns the value; null if there is none. */
    get(key: string): unknown {
      const row = get.get(key)
      return row && (JSON.parse(row.value) as unknown)
    },
    set(key: string, value: unknown): void {
      set.run(key, JSON.stringify(value))
    },
    delete(key: string): void {
      remove.run(key)
    },
    /**
     * Deletes the rows with a key that begins with `prefix` and a number of at most `most` as
     * value.
     */
    deleteUpTo(prefix: string, most: number): void {
      removeUpTo.run(prefix, most)
    },
  }
}
