/** Whose keys this device follows: what the person has looked at, and how far their key log is known here. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from './sqlite.ts'

export interface TrustRow {
  readonly account: string
  /** The generation of keys that was seen first, or confirmed last; 0 while there were none. */
  readonly pinned: number
  /** Whether the person compared the safety number of that generation. */
  readonly confirmed: boolean
  /** The newest entry of the key log as it was judged last, -1 while there is none, and the generation of keys there. */
  readonly seq: number
  readonly newest: number
  /** The generation whose safety number was given out last: nobody can have compared a later one. */
  readonly shown: number
  /** Why the key log that the account server showed last was refused; null when it was not. */
  readonly refused: string | null
  /** When the account server was asked last, Unix milliseconds. */
  readonly checked_at: number
}

export type TrustRows = ReturnType<typeof trustRows>

/** The trust rows. */
export function trustRows(db: DatabaseSync) {
  type Stored = Omit<TrustRow, 'confirmed'> & { readonly confirmed: number }
  const put = statement(
    db,
    `insert into trust (account, pinned, confirmed, seq, newest, shown, refused, checked_at)
     values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict do update set pinned = excluded.pinned, confirmed = excluded.confirmed, seq = excluded.seq,
       newest = excluded.newest, shown = excluded.shown, refused = excluded.refused, checked_at = excluded.checked_at`,
  )
  const get = statement<Stored>(db, 'select * from trust where account = ?')
  const accounts = statement<{ account: string }>(db, 'select account from trust')
  const remove = statement(db, 'delete from trust where account = ?')
  return {
    /** Stores or replaces a row. */
    put(row: TrustRow): void {
      const { account, pinned, confirmed, seq, newest, shown, refused, checked_at } = row
      put.run(account, pinned, confirmed ? 1 : 0, seq, newest, shown, refused, checked_at)
    },
    get(account: string): TrustRow | null {
      const row = get.get(account)
      return row && { ...row, confirmed: row.confirmed === 1 }
    },
    /** The ids of all. */
    accounts: (): string[] => accounts.all().map(({ account }) => account),
    /** Whether there was one. */
    delete: (account: string): boolean => remove.run(account) > 0,
  }
}
