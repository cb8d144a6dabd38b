/** The inviter and the connection with which the account server listed invitations. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from './sqlite.ts'

export interface ListedInvitation {
  readonly id: string
  readonly connection: string
  /** The id of an account. */
  readonly inviter: string
  /** Whether it was listed with another inviter or connection since. */
  readonly changed: boolean
  /** When it was listed last, in Unix milliseconds, to the day. */
  readonly listed_at: number
}

export type ListedInvitationRows = ReturnType<typeof listedInvitationRows>

/** The rows of listed invitations. */
export function listedInvitationRows(db: DatabaseSync) {
  type Stored = Omit<ListedInvitation, 'changed'> & { readonly changed: number }
  const put = statement(
    db,
    `insert into listed_invitations (id, connection, inviter, changed, listed_at)
     values (?, ?, ?, ?, ?)
     on conflict do update set changed = excluded.changed, listed_at = excluded.listed_at`,
  )
  const get = statement<Stored>(db, 'select * from listed_invitations where id = ?')
  const dropOld = statement(db, 'delete from listed_invitations where listed_at < ?')
  const dropBeyond = statement(
    db,
    `delete from listed_invitations where id in
       (select id from listed_invitations order by listed_at desc, id desc limit -1 offset ?)`,
  )
  return {
    /** Stores one, or whether it changed and when it was listed. */
    put({ id, connection, inviter, changed, listed_at }: ListedInvitation): void {
      put.run(id, connection, inviter, Number(changed), listed_at)
    },
    get(id: string): ListedInvitation | null {
      const row = get.get(id)
      return row && { ...row, changed: row.changed === 1 }
    },
    /** Forgets those that were not listed since a time, Unix milliseconds, and all but the last `most`. */
    drop(before: number, most: number): void {
      dropOld.run(before)
      dropBeyond.run(most)
    },
  }
}
