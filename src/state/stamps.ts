/** The stamps that this device signed, and the receipts from the account server. */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'
import type { Append } from './events.ts'
import { metaRows } from './meta.ts'

export interface StampRow {
  readonly id: string
  readonly jws: string
  /** The account server's receipt, a JWS; null if this device does not have it yet. */
  readonly receipt: string | null
  readonly created_at: number
}

/** The meta key that is set from the signing of a stamp until the stamp is final. */
const unfinished = (id: string) => `unfinished ${id}`

/**
 * Returns the statements for the stamp rows. A stamp is not final until the account server has
 * answered or was found to be away: it is deleted again if its words are taken.
 */
export function stampRows(db: DatabaseSync, append: Append) {
  const insert = statement(
    db,
    'insert into stamps (id, jws, receipt, created_at) values (?, ?, ?, ?)',
  )
  const setReceipt = statement(db, 'update stamps set receipt = ? where id = ?')
  const waiting = statement<StampRow>(
    db,
    'select * from stamps where receipt is null order by id limit ?',
  )
  const countWaiting = statement<{ n: number }>(
    db,
    'select count(*) as n from stamps where receipt is null',
  )
  const remove = statement(db, 'delete from stamps where id = ?')
  const get = statement<StampRow>(db, 'select * from stamps where id = ?')
  const page = statement<StampRow>(
    db,
    `select * from stamps where id < ?
       and not exists (select 1 from meta where key = 'unfinished ' || stamps.id)
     order by id desc limit ?`,
  )
  const meta = metaRows(db)

  /** Marks a stamp as final, in a transaction. Does nothing if it is final already. */
  function finish(id: string, registered: boolean): void {
    if (meta.get(unfinished(id)) === null) return
    meta.delete(unfinished(id))
    append('stamp.created', { stamp_id: id, registered })
  }

  return {
    /** Stores a stamp that is not final yet. */
    insert: (row: StampRow): void =>
      transaction(db, () => {
        insert.run(row.id, row.jws, row.receipt, row.created_at)
        meta.set(unfinished(row.id), true)
      }),
    /** Stores a receipt, which makes the stamp final; returns whether the stamp exists. */
    setReceipt: (id: string, receipt: string): boolean =>
      transaction(db, () => {
        const isHere = setReceipt.run(receipt, id) > 0
        if (isHere) finish(id, true)
        return isHere
      }),
    /** Makes a stamp final that has no receipt. */
    keepUnregistered: (id: string): void => transaction(db, () => finish(id, false)),
    /** Deletes a stamp; returns whether it existed. */
    delete: (id: string): boolean =>
      transaction(db, () => {
        meta.delete(unfinished(id))
        return remove.run(id) > 0
      }),
    /** Returns the stamps that still need a receipt, oldest first. */
    countWithoutReceipt: (): number => countWaiting.get()?.n ?? 0,
    withoutReceipt: (limit: number): StampRow[] => waiting.all(limit),
    get: (id: string): StampRow | null => get.get(id),
    /** Returns final stamps with ids before this one, newest first. */
    page: (limit: number, before: string): StampRow[] => page.all(before, limit),
  }
}
