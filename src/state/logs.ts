/**
 * Key logs and rosters as they were received: this device's memory against a server that shows an older or another
 * log. An entry is never replaced and never skipped. Whether it is valid is judged before it comes here.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from './sqlite.ts'

export type LogKind = 'keylog' | 'roster'

export interface LogRow {
  readonly kind: LogKind
  readonly subject: string
  readonly seq: number
  /** The JWS, byte for byte. */
  readonly entry: string
}

type Numbered = Pick<LogRow, 'seq' | 'entry'>

export type LogRows = ReturnType<typeof logRows>

/** The log rows. */
export function logRows(db: DatabaseSync) {
  const insert = statement(db, 'insert into logs (kind, subject, seq, entry) values (?, ?, ?, ?)')
  const at = statement<Numbered>(
    db,
    'select seq, entry from logs where kind = ? and subject = ? and seq = ?',
  )
  const read = statement<{ entry: string }>(
    db,
    'select entry from logs where kind = ? and subject = ? order by seq',
  )
  const head = statement<Numbered>(
    db,
    'select seq, entry from logs where kind = ? and subject = ? order by seq desc limit 1',
  )
  const remove = statement(db, 'delete from logs where kind = ? and subject = ?')
  return {
    /** Adds the next entry. The same entry again is no error; another one at a known seq, or a gap, is. */
    append({ kind, subject, seq, entry }: LogRow): void {
      transaction(db, () => {
        const known = at.get(kind, subject, seq)
        if (known?.entry === entry) return
        if (known !== null) throw new Error(`the ${kind} of ${subject} has another entry at ${seq}`)
        const next = (head.get(kind, subject)?.seq ?? -1) + 1
        if (seq !== next)
          throw new Error(`the ${kind} of ${subject} continues at ${next}, not ${seq}`)
        insert.run(kind, subject, seq, entry)
      })
    },
    /** All entries from seq 0 on. */
    read: (kind: LogKind, subject: string): string[] =>
      read.all(kind, subject).map((row) => row.entry),
    /** The entry with the highest seq, null when the log is unknown. */
    head: (kind: LogKind, subject: string): Numbered | null => head.get(kind, subject),
    /** Forgets a whole log. */
    delete(kind: LogKind, subject: string): void {
      remove.run(kind, subject)
    },
  }
}
