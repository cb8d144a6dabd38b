/**
 * Evidence of forks: the second of two valid histories of one connection. Only a dishonest owner
 * or server can create one.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'

export type ForkRows = ReturnType<typeof forkRows>

/** Returns the statements for the fork rows. */
export function forkRows(db: DatabaseSync) {
  const insert = statement(
    db,
    'insert into forks (connection, seq, entry) values (?, ?, ?) on conflict do nothing',
  )
  const read = statement<{ seq: number; entry: string }>(
    db,
    'select seq, entry from forks where connection = ? order by seq',
  )
  const has = statement(db, 'select 1 from forks where connection = ? limit 1')
  return {
    has: (connection: string): boolean => has.get(connection) !== null,
    /** Stores entries (JWSs, byte for byte) of a history that differs from the one in `logs`. */
    keep(connection: string, entries: readonly { seq: number; entry: string }[]): void {
      transaction(db, () => {
        for (const { seq, entry } of entries) insert.run(connection, seq, entry)
      })
    },
    read: (connection: string) => read.all(connection),
  }
}
