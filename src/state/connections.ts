/**
 * The connections for which this device can check words. Names are the local ones, pinned at
 * acceptance.
 */
import type { DatabaseSync } from 'node:sqlite'
import { comparableName } from '../crypto/encoding/display-names.ts'
import { statement, transaction } from '../storage/sqlite.ts'

export interface NamedMember {
  readonly user_id: string
  readonly display_name: string
}

/** Why no words of a known connection verify (protocol, section 4). */
export type Hold = 'rotation_pending' | 'roster_forked' | 'ended'

export interface ConnectionRow {
  readonly id: string
  readonly name: string
  readonly epoch: number
  /** Hash of the roster entry that opened the epoch. */
  readonly head: Uint8Array
  readonly members: readonly NamedMember[]
  readonly hold: Hold | null
  readonly updated_at: number
}

const COLUMNS = 'id, name, epoch, head, members, hold, updated_at'

export type ConnectionRows = ReturnType<typeof connectionRows>

/** Returns the statements for the connection rows. */
export function connectionRows(db: DatabaseSync) {
  type Stored = Omit<ConnectionRow, 'members'> & { readonly members: string }
  const parsed = (row: Stored): ConnectionRow => ({
    ...row,
    members: JSON.parse(row.members) as NamedMember[],
  })
  const put = statement(
    db,
    `insert into connections (id, name, comparable, epoch, head, members, hold, updated_at)
       values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict do update set name = excluded.name, comparable = excluded.comparable,
       epoch = excluded.epoch, head = excluded.head, members = excluded.members,
       hold = excluded.hold, updated_at = excluded.updated_at`,
  )
  const removeMembers = statement(db, 'delete from connection_members where connection = ?')
  const addMember = statement(
    db,
    'insert into connection_members (connection, account) values (?, ?) on conflict do nothing',
  )
  const get = statement<Stored>(db, `select ${COLUMNS} from connections where id = ?`)
  const all = statement<Stored>(db, `select ${COLUMNS} from connections order by id desc`)
  const ids = statement<{ id: string }>(db, 'select id from connections')
  const pending = statement<{ id: string }>(
    db,
    `select id from connections where hold = 'rotation_pending'`,
  )
  const hold = statement<{ id: string }>(
    db,
    'update connections set hold = ? where hold is null returning id',
  )
  const withMember = statement<{ connection: string }>(
    db,
    'select connection from connection_members where account = ?',
  )
  const page = statement<{ id: string }>(
    db,
    'select id from connections where id > ? order by id limit ?',
  )
  const count = statement<{ n: number }>(db, 'select count(*) as n from connections')
  const rename = statement(
    db,
    'update connections set name = ?, comparable = ?, updated_at = ? where id = ?',
  )
  const remove = statement(db, 'delete from connections where id = ?')
  return {
    /** Stores or replaces a connection. */
    put(row: ConnectionRow): void {
      const { id, name, epoch, head, hold, updated_at } = row
      const members = JSON.stringify(row.members)
      transaction(db, () => {
        put.run(id, name, comparableName(name), epoch, head, members, hold, updated_at)
        removeMembers.run(id)
        for (const { user_id } of row.members) addMember.run(id, user_id)
      })
    },
    get(id: string): ConnectionRow | null {
      const row = get.get(id)
      return row && parsed(row)
    },
    /** Returns every connection, newest first. */
    all: (): ConnectionRow[] => all.all().map(parsed),
    ids: (): string[] => ids.all().map(({ id }) => id),
    /** Returns the ids of the connections that wait for a new secret. */
    pending: (): string[] => pending.all().map(({ id }) => id),
    /** Suspends all connections that are not suspended. Returns their ids. */
    holdAll: (why: Hold): string[] => hold.all(why).map(({ id }) => id),
    /** Returns the ids of the connections that an account is a member of. */
    withMember: (account: string): string[] =>
      withMember.all(account).map(({ connection }) => connection),
    /** Returns up to `limit` ids after the given one, oldest first; '' begins the first page. */
    page: (after: string, limit: number): string[] => page.all(after, limit).map(({ id }) => id),
    count: (): number => count.get()?.n ?? 0,
    /** Renames a connection; returns whether it existed. */
    rename: (id: string, name: string, at: number): boolean =>
      rename.run(name, comparableName(name), at, id) > 0,
    /** Deletes a connection; returns whether it existed. */
    delete: (id: string): boolean =>
      transaction(db, () => {
        removeMembers.run(id)
        return remove.run(id) > 0
      }),
  }
}
