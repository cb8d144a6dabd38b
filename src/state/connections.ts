/** The connections this device can check words for. Names are the local ones, pinned at acceptance. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from './sqlite.ts'

export interface Member {
  readonly user_id: string
  readonly display_name: string
}

/** Why nothing of a connection verifies although it is known here (protocol, section 4). */
export type Hold = 'rotation_pending' | 'roster_forked' | 'ended'

export interface ConnectionRow {
  readonly id: string
  readonly name: string
  readonly epoch: number
  /** Hash of the roster entry that opened the epoch. */
  readonly head: Uint8Array
  readonly members: readonly Member[]
  readonly hold: Hold | null
  readonly updated_at: number
}

export type ConnectionRows = ReturnType<typeof connectionRows>

/** The connection rows. */
export function connectionRows(db: DatabaseSync) {
  type Stored = Omit<ConnectionRow, 'members'> & { readonly members: string }
  const parsed = (row: Stored): ConnectionRow => ({
    ...row,
    members: JSON.parse(row.members) as Member[],
  })
  const put = statement(
    db,
    `insert into connections (id, name, epoch, head, members, hold, updated_at) values (?, ?, ?, ?, ?, ?, ?)
     on conflict do update set name = excluded.name, epoch = excluded.epoch, head = excluded.head,
       members = excluded.members, hold = excluded.hold, updated_at = excluded.updated_at`,
  )
  const get = statement<Stored>(db, 'select * from connections where id = ?')
  const all = statement<Stored>(db, 'select * from connections order by id desc')
  const ids = statement<{ id: string }>(db, 'select id from connections')
  const pending = statement<{ id: string }>(
    db,
    `select id from connections where hold = 'rotation_pending'`,
  )
  const hold = statement<{ id: string }>(
    db,
    'update connections set hold = ? where hold is null returning id',
  )
  // An id is in the text of the members only as what it is, or in a name that somebody chose to look so.
  const withMember = statement<{ id: string }>(
    db,
    'select id from connections where instr(members, ?) > 0',
  )
  const page = statement<{ id: string }>(
    db,
    'select id from connections where id > ? order by id limit ?',
  )
  const count = statement<{ n: number }>(db, 'select count(*) as n from connections')
  const rename = statement(db, 'update connections set name = ?, updated_at = ? where id = ?')
  const remove = statement(db, 'delete from connections where id = ?')
  return {
    /** Stores or replaces a connection. */
    put(row: ConnectionRow): void {
      const members = JSON.stringify(row.members)
      put.run(row.id, row.name, row.epoch, row.head, members, row.hold, row.updated_at)
    },
    get(id: string): ConnectionRow | null {
      const row = get.get(id)
      return row && parsed(row)
    },
    /** Every connection, newest first. */
    all: (): ConnectionRow[] => all.all().map(parsed),
    ids: (): string[] => ids.all().map(({ id }) => id),
    /** Ids of those that wait for a new secret. */
    pending: (): string[] => pending.all().map(({ id }) => id),
    /** Holds back all that are not. Answers their ids. */
    holdAll: (why: Hold): string[] => hold.all(why).map(({ id }) => id),
    /** Ids of those that an account is in; perhaps of others whose members have a name with that id in it. */
    withMember: (account: string): string[] => withMember.all(account).map(({ id }) => id),
    /** Up to so many ids, oldest first, from the one after this on; the first page begins after ''. */
    page: (after: string, limit: number): string[] => page.all(after, limit).map(({ id }) => id),
    count: (): number => count.get()?.n ?? 0,
    /** Whether there was one to rename. */
    rename: (id: string, name: string, at: number): boolean => rename.run(name, at, id) > 0,
    /** Whether there was one. */
    delete: (id: string): boolean => remove.run(id) > 0,
  }
}
