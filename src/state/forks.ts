/**
 * Forked connections: the evidence of a fork, and the connections that replace forked ones. Only a
 * dishonest owner or server can create a fork.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'

/** Returns the statements for the evidence of a fork: the second valid history of a connection. */
export function forkRows(db: DatabaseSync) {
  const insert = statement(
    db,
    'insert into forks (connection, seq, entry) values (?, ?, ?) on conflict do nothing',
  )
  const read = statement<{ seq: number; entry: string }>(
    db,
    'select seq, entry from forks where connection = ? order by seq',
  )
  const has = statement(db, 'select 1 from forks where connection = ? limit 1')
  return {
    has: (connection: string): boolean => has.get(connection) !== null,
    /** Stores entries (JWSs, byte for byte) of a history that differs from the one in `logs`. */
    keep(connection: string, entries: readonly { seq: number; entry: string }[]): void {
      transaction(db, () => {
        for (const { seq, entry } of entries) insert.run(connection, seq, entry)
      })
    },
    read: (connection: string) => read.all(connection),
  }
}

/** A forked connection. */
export interface ForkedRow {
  readonly connection: string
  /** When this device saw the fork, Unix milliseconds. */
  readonly seen_at: number
  /** 16 random bytes: the operation id with which this device may create a replacement. */
  readonly act: Uint8Array
  /** The id of the connection that replaces this one; null if there is none yet. */
  readonly replaced_by: string | null
}

/** A connection that replaces another connection, as its first entry says. */
export interface ReplacementRow {
  readonly connection: string
  readonly replaces: string
  /** The id of the account that created it. */
  readonly opener: string
}

/** Returns the statements for the forked connections and their replacements. */
export function replacementRows(db: DatabaseSync) {
  const note = statement(
    db,
    `insert into forked (connection, seen_at, act)
       select id, ?, randomblob(16) from connections where hold = 'roster_forked'
     on conflict do nothing`,
  )
  const forked = statement<ForkedRow>(
    db,
    `select connection, seen_at, act, replaced_by from forked
       join connections on id = forked.connection and hold = 'roster_forked'
     order by seen_at, connection`,
  )
  const replaced = statement<{ connection: string; replaced_by: string }>(
    db,
    'select connection, replaced_by from forked where replaced_by is not null',
  )
  const replacementOf = statement<{ replaced_by: string | null; settled: number }>(
    db,
    'select replaced_by, settled from forked where connection = ?',
  )
  const update = statement(
    db,
    `update forked set replaced_by = ?, settled = ?
     where connection = ? and (replaced_by is not ? or settled != ?)`,
  )
  const put = statement(
    db,
    `insert into replacements (connection, replaces, opener) values (?, ?, ?) on conflict do nothing`,
  )
  const of = statement<ReplacementRow>(
    db,
    `select replacements.* from replacements
       join connections on id = replacements.connection and hold is not 'ended'
     where replaces = ? order by replacements.connection`,
  )
  const forgotten = statement(
    db,
    'delete from replacements where connection not in (select id from connections)',
  )
  return {
    /**
     * Stores every connection that is suspended because of a fork, with `at` as the time it was
     * seen.
     */
    note(at: number): void {
      note.run(at)
      forgotten.run()
    },
    /** Returns the stored forked connections that still exist on this device, oldest first. */
    forked: (): ForkedRow[] => forked.all(),
    /** Returns the id of the connection that replaces a forked one; null if there is none. */
    inPlaceOf: (forked: string): string | null => replacementOf.get(forked)?.replaced_by ?? null,
    /** Returns the ids of the connections that replace forked ones, by the forked one's id. */
    replaced: (): ReadonlyMap<string, string> =>
      new Map(replaced.all().map(({ connection, replaced_by }) => [connection, replaced_by])),
    /** Checks whether all members of a forked connection are members of its replacement. */
    isSettled: (forked: string): boolean => replacementOf.get(forked)?.settled === 1,
    /** Stores the replacement of a forked connection; returns whether that changed the row. */
    setReplacement(forked: string, replacedBy: string | null, isSettled: boolean): boolean {
      const settled = Number(isSettled)
      return update.run(replacedBy, settled, forked, replacedBy, settled) > 0
    },
    /** Stores that a connection replaces another one. */
    put({ connection, replaces, opener }: ReplacementRow): void {
      put.run(connection, replaces, opener)
    },
    /**
     * Returns the connections on this device that replace `replaced` and have not ended. The order
     * is by id, so oldest first, because an id begins with its creation time.
     */
    of: (replaced: string): ReplacementRow[] => of.all(replaced),
  }
}
