/** The guest codes for which this device can check words. */
import type { DatabaseSync } from 'node:sqlite'
import { comparableName } from '../crypto/encoding/display-names.ts'
import type { GuestCode } from '../api/rest/guest-codes.ts'
import { statement, transaction } from '../storage/sqlite.ts'
import type { Append } from './events.ts'

export interface GuestRow {
  readonly id: string
  readonly label: string
  readonly state: GuestCode['state']
  readonly expires_at: number
  readonly created_at: number
  /** The external member that the code is for; null if there is none or if the code has ended. */
  readonly external_member_id: string | null
  readonly external_member_name: string | null
}

const COLUMNS = 'id, label, state, expires_at, created_at, external_member_id, external_member_name'

/** Returns the statements for the guest code rows. */
export function guestRows(db: DatabaseSync, append: Append) {
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
  const countActive = statement<{ n: number }>(
    db,
    `select count(*) as n from guests where state = 'active'`,
  )
  const end = statement(
    db,
    `update guests set state = ?, external_member_id = null, external_member_name = null,
       external_comparable = null
     where id = ?`,
  )
  const remove = statement<{ label: string }>(db, 'delete from guests where id = ? returning label')

  /** Appends the event for a state that differs from the one before. */
  function report(before: GuestRow | null, { id, label, state }: GuestRow): void {
    if (before?.state === state) return
    const of = { guest_code_id: id, label }
    if (state === 'active') append('guest_code.created', of)
    // A device that signs in gets the ended codes too.
    else if (before !== null) append(`guest_code.${state}`, of)
  }

  return {
    /** Stores or replaces a guest code. */
    put(row: GuestRow): void {
      const { id, label, state, expires_at, created_at } = row
      const { external_member_id, external_member_name } = row
      transaction(db, () => {
        const before = get.get(id)
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
        report(before, row)
      })
    },
    get: (id: string): GuestRow | null => get.get(id),
    /** Returns every guest code, newest first. */
    all: (): GuestRow[] => all.all(),
    countActive: (): number => countActive.get()?.n ?? 0,
    /**
     * Marks a guest code as ended and deletes its external member; returns whether it existed.
     */
    end: (id: string, state: 'revoked' | 'expired'): boolean =>
      transaction(db, () => {
        const before = get.get(id)
        if (before === null) return false
        end.run(state, id)
        report(before, { ...before, state })
        return true
      }),
    /** Deletes a guest code; returns whether it existed. */
    delete: (id: string): boolean =>
      transaction(db, () => {
        const gone = remove.get(id)
        if (gone !== null) append('guest_code.deleted', { guest_code_id: id, label: gone.label })
        return gone !== null
      }),
  }
}
