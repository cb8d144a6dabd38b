/**
 * The accounts and mailboxes that this device invited. An owner's device adds only these as
 * members, even if the account server reports other approvals, since a dishonest server could
 * name a device of its own.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export interface PendingInvite {
  readonly connection: string
  /** An account id, or a mailbox in lower case. */
  readonly target: string
  /**
   * The id that the account server assigned; null before that, and if the server is not involved.
   */
  readonly invitation: string | null
  /**
   * Whether the target was a member before, and its new keys were confirmed. It is added again
   * without an invitation.
   */
  readonly again: boolean
  /**
   * The newest roster entry when the invite was made. A member who leaves after it needs another.
   */
  readonly seq: number
  /** Unix milliseconds: the end of the invite. */
  readonly until: number
}

export type InviteRows = ReturnType<typeof inviteRows>

/** Returns the statements for the invite rows. */
export function inviteRows(db: DatabaseSync) {
  type Stored = Omit<PendingInvite, 'again'> & { readonly again: number }
  const parsed = (row: Stored): PendingInvite => ({ ...row, again: row.again === 1 })
  const put = statement(
    db,
    `insert into invites (connection, target, invitation, again, seq, until) values (?, ?, ?, ?, ?, ?)
     on conflict do update set invitation = excluded.invitation, again = excluded.again, seq = excluded.seq,
       until = excluded.until`,
  )
  const get = statement<Stored>(db, 'select * from invites where connection = ? and target = ?')
  const all = statement<Stored>(db, 'select * from invites')
  const again = statement<Stored>(db, 'select * from invites where again = 1')
  const remove = statement(db, 'delete from invites where connection = ? and target = ?')
  const dropOld = statement(db, 'delete from invites where until <= ?')
  const dropAgain = statement(db, 'delete from invites where target = ? and again = 1')
  const clear = statement(db, 'delete from invites where connection = ?')
  return {
    put: ({ connection, target, invitation, again: isAgain, seq, until }: PendingInvite): void => {
      put.run(connection, target, invitation, isAgain ? 1 : 0, seq, until)
    },
    get(connection: string, target: string): PendingInvite | null {
      const row = get.get(connection, target)
      return row && parsed(row)
    },
    all: (): PendingInvite[] => all.all().map(parsed),
    /** Returns the invites of accounts with new keys that wait for a `confirm`. */
    again: (): PendingInvite[] => again.all().map(parsed),
    delete: (connection: string, target: string): boolean => remove.run(connection, target) > 0,
    /** Deletes the invites that ended at or before a time in Unix milliseconds. */
    dropOld: (now: number): void => {
      dropOld.run(now)
    },
    /** Deletes the invites of a member with new keys that wait for a `confirm`. */
    dropAgain: (target: string): void => {
      dropAgain.run(target)
    },
    /** Deletes all invites of one connection. */
    clear: (connection: string): void => {
      clear.run(connection)
    },
  }
}
