/** The inviter and the connection of each invitation, as the account server listed it. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export interface ListedInvitation {
  readonly id: string
  readonly connection: string
  /** An account id. */
  readonly inviter: string
  /** Whether it was listed with another inviter or connection since. */
  readonly changed: boolean
  /** When it was last listed, in Unix milliseconds. */
  readonly listed_at: number
  /**
   * The only caller that may approve by this row: a token id, or '' for the command line; null:
   * any.
   */
  readonly reader: string | null
}

export type ListedInvitationRows = ReturnType<typeof listedInvitationRows>

/** Returns the statements for the rows of listed invitations. */
export function listedInvitationRows(db: DatabaseSync) {
  type Stored = Omit<ListedInvitation, 'changed'> & { readonly changed: number }
  const put = statement(
    db,
    `insert into listed_invitations (id, connection, inviter, changed, listed_at, reader)
     values (?, ?, ?, ?, ?, ?)
     on conflict do update set changed = excluded.changed, listed_at = excluded.listed_at,
       reader = excluded.reader`,
  )
  const get = statement<Stored>(db, 'select * from listed_invitations where id = ?')
  const count = statement<{ all: number }>(db, 'select count(*) as "all" from listed_invitations')
  const newest = statement<{ at: number | null }>(
    db,
    'select max(listed_at) as at from listed_invitations',
  )
  const dropOld = statement(db, 'delete from listed_invitations where listed_at < ?')
  const dropBeyond = statement(
    db,
    `delete from listed_invitations where id in
       (select id from listed_invitations order by listed_at desc, id desc limit -1 offset ?)`,
  )
  return {
    /**
     * Stores an invitation. Of a stored one, it updates only `changed`, `listed_at` and `reader`.
     */
    put({ id, connection, inviter, changed, listed_at, reader }: ListedInvitation): void {
      put.run(id, connection, inviter, Number(changed), listed_at, reader)
    },
    count: (): number => count.get()!.all,
    /** Returns when the newest was listed, in Unix milliseconds; 0 if there is none. */
    newest: (): number => newest.get()!.at ?? 0,
    get(id: string): ListedInvitation | null {
      const row = get.get(id)
      return row && { ...row, changed: row.changed === 1 }
    },
    /** Deletes the invitations last listed before a time in Unix milliseconds. */
    dropOld(before: number): void {
      dropOld.run(before)
    },
    /**
     * Deletes all but the `most` invitations that were listed last; returns how many were
     * deleted.
     */
    dropBeyond: (most: number): number => dropBeyond.run(most),
  }
}
