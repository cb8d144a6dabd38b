/** The stamps that this device signed, and the receipts from the account server. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export interface StampRow {
  readonly id: string
  readonly jws: string
  /** The account server's receipt, a JWS; null if this device does not have it yet. */
  readonly receipt: string | null
  readonly created_at: number
}

/** Returns the statements for the stamp rows. */
export function stampRows(db: DatabaseSync) {
  const insert = statement(
    db,
    'insert into stamps (id, jws, receipt, created_at) values (?, ?, ?, ?)',
  )
  const setReceipt = statement(db, 'update stamps set receipt = ? where id = ?')
  const waiting = statement<StampRow>(
    db,
    'select * from stamps where receipt is null order by id limit ?',
  )
  const remove = statement(db, 'delete from stamps where id = ?')
  const get = statement<StampRow>(db, 'select * from stamps where id = ?')
  return {
    insert(row: StampRow): void {
      insert.run(row.id, row.jws, row.receipt, row.created_at)
    },
    /** Stores a receipt; returns whether the stamp exists. */
    setReceipt: (id: string, receipt: string): boolean => setReceipt.run(receipt, id) > 0,
    /** Deletes a stamp; returns whether it existed. */
    delete: (id: string): boolean => remove.run(id) > 0,
    /** Returns the stamps that still need a receipt, oldest first. */
    withoutReceipt: (limit: number): StampRow[] => waiting.all(limit),
    get: (id: string): StampRow | null => get.get(id),
  }
}
