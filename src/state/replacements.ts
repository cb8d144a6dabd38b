/**
 * The forked connections that this device found, and those that replace them. The
 * second of the two histories is in `forks`.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

/** A forked connection. */
export interface ForkedRow {
  readonly connection: string
  /** When this device saw the fork, Unix milliseconds. */
  readonly seen_at: number
  /** 16 random bytes: the operation by which this device may open a replacement. */
  readonly act: Uint8Array
  /** The connection in its place; null while there is none. */
  readonly replaced_by: string | null
}

/** A connection that replaces another, by its first entry. */
export interface ReplacementRow {
  readonly connection: string
  readonly replaces: string
  /** The account that opened it. */
  readonly opener: string
}

export type ReplacementRows = ReturnType<typeof replacementRows>

/** The rows of forked connections and their replacements. */
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
  const judged = statement<{ replaced_by: string | null; settled: number }>(
    db,
    'select replaced_by, settled from forked where connection = ?',
  )
  const judge = statement(
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
    /** Notes the connections that are held because they forked, as seen at a time. */
    note(at: number): void {
      note.run(at)
      forgotten.run()
    },
    /** The noted connections that are known here, the oldest first. */
    forked: (): ForkedRow[] => forked.all(),
    /** The connection in place of one that forked; null for none. */
    inPlaceOf: (forked: string): string | null => judged.get(forked)?.replaced_by ?? null,
    /** Whether all members of a forked connection are in the one in its place. */
    isSettled: (forked: string): boolean => judged.get(forked)?.settled === 1,
    /** Stores what is in place of a forked connection; answers whether that is new. */
    judge(forked: string, replacedBy: string | null, isSettled: boolean): boolean {
      const settled = Number(isSettled)
      return judge.run(replacedBy, settled, forked, replacedBy, settled) > 0
    },
    /** Stores that a connection replaces another. */
    put({ connection, replaces, opener }: ReplacementRow): void {
      put.run(connection, replaces, opener)
    },
    /** The connections here that replace one and go on, by id. Their ids begin with their time. */
    of: (replaced: string): ReplacementRow[] => of.all(replaced),
  }
}
