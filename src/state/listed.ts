/** What lists of the account server contained when this device last read them. */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'

/** Returns the statements for the listed items: their ids, and what is compared of each. */
export function listedRows(db: DatabaseSync) {
  const all = statement<{ id: string; state: string }>(
    db,
    'select id, state from listed where list = ?',
  )
  const remove = statement(db, 'delete from listed where list = ? and id = ?')
  const put = statement(
    db,
    `insert into listed values (?, ?, ?)
     on conflict do update set state = excluded.state`,
  )
  return {
    /** Returns the states of a list's items by id; null if the list was never read. */
    of(list: string): ReadonlyMap<string, string> | null {
      const rows = all.all(list)
      return rows.length === 0
        ? null
        : new Map(rows.filter(({ id }) => id !== '').map(({ id, state }) => [id, state]))
    },
    /** Stores a list in place of what was stored of it. */
    replace: (list: string, items: ReadonlyMap<string, string>): void =>
      transaction(db, () => {
        const before = new Map(all.all(list).map(({ id, state }) => [id, state]))
        for (const id of before.keys()) if (id !== '' && !items.has(id)) remove.run(list, id)
        for (const [id, state] of [['', ''] as const, ...items])
          if (before.get(id) !== state) put.run(list, id, state)
      }),
  }
}
