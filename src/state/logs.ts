/**
 * Key logs and rosters as they were received: this device's memory against a server that shows an older or another
 * log. An entry is never replaced and never skipped. Whether it is valid is judged before it comes here.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'

/** The largest log that is remembered, except the own key log, in characters of its entries. */
export const MOST_CHARACTERS = 128 * 1024 * 1024

export type LogKind = 'keylog' | 'roster'

export interface LogRow {
  readonly kind: LogKind
  readonly subject: string
  readonly seq: number
  /** The JWS, byte for byte. */
  readonly entry: string
  /**
   * Of a reset with a `recovery_sig`: the recovery key that made it, `x` of its JWK. A row of an
   * earlier version is without it.
   */
  readonly voucher?: string | null
}

type Numbered = Pick<LogRow, 'seq' | 'entry'>
/** An entry, with the recovery key that vouched for it or null. */
export type StoredEntry = Required<Pick<LogRow, 'entry' | 'voucher'>>

export type LogRows = ReturnType<typeof logRows>

/** The log rows. */
export function logRows(db: DatabaseSync) {
  const insert = statement(
    db,
    'insert into logs (kind, subject, seq, entry, voucher) values (?, ?, ?, ?, ?)',
  )
  const at = statement<Numbered>(
    db,
    'select seq, entry from logs where kind = ? and subject = ? and seq = ?',
  )
  const read = statement<{ entry: string }>(
    db,
    'select entry from logs where kind = ? and subject = ? order by seq',
  )
  const stored = statement<StoredEntry>(
    db,
    'select entry, voucher from logs where kind = ? and subject = ? order by seq',
  )
  const head = statement<Numbered>(
    db,
    'select seq, entry from logs where kind = ? and subject = ? order by seq desc limit 1',
  )
  const remove = statement(db, 'delete from logs where kind = ? and subject = ?')
  return {
    mostCharacters: MOST_CHARACTERS,
    /** Adds the next entry. The same entry again is no error; another one at a known seq, or a gap, is. */
    append({ kind, subject, seq, entry, voucher = null }: LogRow): void {
      transaction(db, () => {
        const known = at.get(kind, subject, seq)
        if (known?.entry === entry) return
        if (known !== null) throw new Error(`the ${kind} of ${subject} has another entry at ${seq}`)
        const next = (head.get(kind, subject)?.seq ?? -1) + 1
        if (seq !== next)
          throw new Error(`the ${kind} of ${subject} continues at ${next}, not ${seq}`)
        insert.run(kind, subject, seq, entry, voucher)
      })
    },
    /** All entries from seq 0 on. */
    read: (kind: LogKind, subject: string): string[] =>
      read.all(kind, subject).map((row) => row.entry),
    /** All entries of a key log from seq 0 on, with the recovery keys that vouched for resets. */
    keyLog: (account: string): StoredEntry[] => stored.all('keylog', account),
    /**
     * Whether a chain of entries from seq 0 on and the one that is remembered are one history, the
     * shorter the beginning of the longer. Each entry names the hash of the one before, so that the
     * last place that both have decides.
     */
    isSameHistory(kind: LogKind, subject: string, entries: readonly string[]): boolean {
      const newest = head.get(kind, subject)
      if (newest === null || entries.length === 0) return true
      const last = Math.min(newest.seq, entries.length - 1)
      const seen = last === newest.seq ? newest : at.get(kind, subject, last)
      return seen?.entry === entries[last]
    },
    /** The entry with the highest seq, null when the log is unknown. */
    head: (kind: LogKind, subject: string): Numbered | null => head.get(kind, subject),
    /** Forgets a whole log. */
    delete(kind: LogKind, subject: string): void {
      remove.run(kind, subject)
    },
  }
}
