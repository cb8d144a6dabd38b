/**
 * Key logs and rosters, as received. With them this device detects a server that returns an older
 * or a different log. An entry is never replaced or skipped. Callers must verify entries before
 * they store them.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'

/** The maximum size of a stored log, in characters of its entries. The own key log has no limit. */
export const MOST_CHARACTERS = 128 * 1024 * 1024

type LogKind = 'keylog' | 'roster'

interface LogRow {
  readonly kind: LogKind
  readonly subject: string
  readonly seq: number
  /** The JWS, byte for byte. */
  readonly entry: string
  /**
   * The public key (`x` of its JWK) of the recovery key that made a reset; null for other entries.
   * Rows written by an earlier version have none.
   */
  readonly voucher?: string | null
}

type Numbered = Pick<LogRow, 'seq' | 'entry'>
/** An entry and the recovery key that vouched for it; the key is null if there was none. */
type StoredEntry = Required<Pick<LogRow, 'entry' | 'voucher'>>

/** Returns the statements for the log rows. */
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
    /**
     * Appends the next entry. Does nothing if the same entry is already stored.
     * @throws Error if another entry is stored at this seq, or if an entry before it is missing
     */
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
    /** Returns all entries, from seq 0. */
    read: (kind: LogKind, subject: string): string[] =>
      read.all(kind, subject).map((row) => row.entry),
    /**
     * Returns all entries of a key log from seq 0, with the recovery keys that vouched for resets.
     */
    keyLog: (account: string): StoredEntry[] => stored.all('keylog', account),
    /**
     * Checks whether a chain of entries from seq 0 and the stored chain are one history.
     *
     * They are if the shorter chain is the beginning of the longer one. Each entry contains the
     * hash of the entry before it, so it is enough to compare the last position that both have.
     */
    isSameHistory(kind: LogKind, subject: string, entries: readonly string[]): boolean {
      const newest = head.get(kind, subject)
      if (newest === null || entries.length === 0) return true
      const last = Math.min(newest.seq, entries.length - 1)
      const seen = last === newest.seq ? newest : at.get(kind, subject, last)
      return seen?.entry === entries[last]
    },
    /** Returns the entry with the highest seq; null if the log is unknown. */
    head: (kind: LogKind, subject: string): Numbered | null => head.get(kind, subject),
    /** Deletes a whole log. */
    delete(kind: LogKind, subject: string): void {
      remove.run(kind, subject)
    },
  }
}

/**
 * Returns the statements for the devices' public sealing keys, by account and key id.
 *
 * The account server sends these keys with the key logs. Callers must check each key against its
 * hash in the log before they store it. A missing key can be requested again.
 */
export function sealKeyRows(db: DatabaseSync) {
  const insert = statement(
    db,
    'insert into seal_keys (account, id, key) values (?, ?, ?) on conflict do nothing',
  )
  const get = statement<{ key: Uint8Array }>(
    db,
    'select key from seal_keys where account = ? and id = ?',
  )
  const ids = statement<{ id: string }>(db, 'select id from seal_keys where account = ?')
  const remove = statement(db, 'delete from seal_keys where account = ? and id = ?')
  return {
    /** Returns a key of 1,216 bytes; null if it is not stored. */
    get: (account: string, id: string): Uint8Array | null => get.get(account, id)?.key ?? null,
    /** Stores an account's keys, except those already stored. */
    add(account: string, keys: ReadonlyMap<string, Uint8Array>): void {
      transaction(db, () => {
        for (const [id, key] of keys) insert.run(account, id, key)
      })
    },
    /** Deletes the keys of an account that are not in `wanted`. */
    forgetOthers(account: string, wanted: ReadonlySet<string>): void {
      transaction(db, () => {
        for (const { id } of ids.all(account)) if (!wanted.has(id)) remove.run(account, id)
      })
    },
  }
}
