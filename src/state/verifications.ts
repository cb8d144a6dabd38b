/**
 * The verification log of this device, before and after the entries are uploaded to the server.
 * It does not hold the words.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { VerificationEntry } from '../api/rest/verify.ts'
import { statement, transaction } from '../storage/sqlite.ts'

/** Sorts after every id. */
const AFTER_ALL = '~'

export type VerificationRows = ReturnType<typeof verificationRows>

/** Returns the statements for the verification rows. */
export function verificationRows(db: DatabaseSync) {
  type Stored = Omit<VerificationEntry, 'matches'> & { readonly matches: string }
  const parsed = (row: Stored): VerificationEntry => ({
    ...row,
    matches: JSON.parse(row.matches) as VerificationEntry['matches'],
  })
  const columns = 'id, at, method, outcome, matches, caller'
  const insert = statement(
    db,
    `insert into verifications (${columns}, pushed) values (?, ?, ?, ?, ?, ?, 0)`,
  )
  const page = statement<Stored>(
    db,
    `select ${columns} from verifications where id >= ? and id < ? order by id desc limit ?`,
  )
  const unpushed = statement<Stored>(
    db,
    `select ${columns} from verifications where pushed = 0 order by id limit ?`,
  )
  const mark = statement(db, 'update verifications set pushed = 1 where id = ?')
  return {
    insert(row: VerificationEntry): void {
      const matches = JSON.stringify(row.matches)
      insert.run(row.id, row.at, row.method, row.outcome, matches, row.caller)
    },
    /**
     * Returns entries, newest first, with ids from `fromId` to before `beforeId`; without them,
     * all.
     */
    page: (limit: number, beforeId: string | null, fromId = ''): VerificationEntry[] =>
      page.all(fromId, beforeId ?? AFTER_ALL, limit).map(parsed),
    /** Returns the entries that the server does not have yet, oldest first. */
    unpushed: (limit: number): VerificationEntry[] => unpushed.all(limit).map(parsed),
    /** Marks entries as stored by the server, in one transaction. */
    markPushed(ids: Iterable<string>): void {
      transaction(db, () => {
        for (const id of ids) mark.run(id)
      })
    },
  }
}
