/** The guest codes this device can check words for. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from './sqlite.ts'

export interface GuestRow {
  readonly id: string
  readonly label: string
  readonly state: string
  readonly expires_at: number
  readonly created_at: number
}

export type GuestRows = ReturnType<typeof guestRows>

/** The guest code rows. */
export function guestRows(db: DatabaseSync) {
  const put = statement(
    db,
    `insert into guests (id, label, state, expires_at, created_at) values (?, ?, ?, ?, ?)
     on conflict do update set label = excluded.label, state = excluded.state,
       expires_at = excluded.expires_at, created_at = excluded.created_at`,
  )
  const get = statement<GuestRow>(db, 'select * from guests where id = ?')
  const all = statement<GuestRow>(db, 'select * from guests order by id desc')
  const setState = statement(db, 'update guests set state = ? where id = ?')
  const remove = statement(db, 'delete from guests where id = ?')
  return {
    /** Stores or replaces a guest code. */
    put(row: GuestRow): void {
      put.run(row.id, row.label, row.state, row.expires_at, row.created_at)
    },
    get: (id: string): GuestRow | null => get.get(id),
    /** Every guest code, newest first. */
    all: (): GuestRow[] => all.all(),
    /** Whether there was one. */
    setState: (id: string, state: string): boolean => setState.run(state, id) > 0,
    /** Whether there was one. */
    delete: (id: string): boolean => remove.run(id) > 0,
  }
}
