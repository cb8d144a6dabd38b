/** The guest codes for which this device can check words. */
import type { DatabaseSync } from 'node:sqlite'
import { comparableName } from '../crypto/encoding/display-names.ts'
import { statement } from '../storage/sqlite.ts'

export interface GuestRow {
  readonly id: string
  readonly label: string
  readonly state: string
  readonly expires_at: number
  readonly created_at: number
  /** The external member that the code is for; null if there is none or if the code has ended. */
  readonly external_member_id: string | null
  readonly external_member_name: string | null
}

const COLUMNS = 'id, label, state, expires_at, created_at, external_member_id, external_member_name'

/** Returns the statements for the guest code rows. */
export function guestRows(db: DatabaseSync) {
  const put = statement(
    db,
    `insert into guests (id, label, state, expires_at, created_at,
       external_member_id, external_member_name, comparable, external_comparable)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict do update set label = excluded.label, state = excluded.state,
       expires_at = excluded.expires_at, created_at = excluded.created_at,
       external_member_id = excluded.external_member_id,
       external_member_name = excluded.external_member_name,
       comparable = excluded.comparable, external_comparable = excluded.external_comparable`,
  )
  const get = statement<GuestRow>(db, `select ${COLUMNS} from guests where id = ?`)
  const all = statement<GuestRow>(db, `select ${COLUMNS} from guests order by id desc`)
  const end = statement(
    db,
    `update guests set state = ?, external_member_id = null, external_member_name = null,
       external_comparable = null
     where id = ?`,
  )
  const remove = statement(db, 'delete from guests where id = ?')
  return {
    /** Stores or replaces a guest code. */
    put(row: GuestRow): void {
      const { id, label, state, expires_at, created_at } = row
      const { external_member_id, external_member_name } = row
      put.run(
        id,
        label,
        state,
        expires_at,
        created_at,
        external_member_id,
        external_member_name,
        comparableName(label),
        external_member_name === null ? null : comparableName(external_member_name),
      )
    },
    get: (id: string): GuestRow | null => get.get(id),
    /** Returns every guest code, newest first. */
    all: (): GuestRow[] => all.all(),
    /**
     * Marks a guest code as ended and deletes its external member; returns whether it existed.
     */
    end: (id: string, state: 'revoked' | 'expired'): boolean => end.run(state, id) > 0,
    /** Deletes a guest code; returns whether it existed. */
    delete: (id: string): boolean => remove.run(id) > 0,
  }
}
