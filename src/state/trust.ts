/**
 * The accounts with keys that this device follows.
 *
 * A row stores which generation of keys the user reviewed, and how much of the key log this device
 * has read.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { TrustCard } from '../api/rest/trust-cards.ts'
import { statement, transaction } from '../storage/sqlite.ts'
import type { Append } from './events.ts'

export interface TrustRow {
  readonly account: string
  /** The generation of keys that was first seen or last confirmed; 0 if there was none yet. */
  readonly pinned: number
  /** Whether the user compared the safety number of that generation. */
  readonly confirmed: boolean
  /**
   * The seq and the generation of the key log's newest entry at the last check. The seq is -1 if
   * the log has no entries.
   */
  readonly seq: number
  readonly newest: number
  /** Why this device rejected the last key log from the account server; null if it did not. */
  readonly refused: string | null
  /** When this device last requested the key log from the account server, Unix milliseconds. */
  readonly checked_at: number
  /**
   * When all devices were replaced with the recovery key, Unix milliseconds. Null if that did not
   * happen or if the user dismissed the notice.
   */
  readonly recovered_at: number | null
  /** Whether all devices were replaced without the recovery key, although the account had one. */
  readonly key_unused: boolean
}

/**
 * Returns the status of a trust card's keys. A refused key log counts as changed keys, because one
 * of the two histories is not the account's.
 */
export const keyStatusOf = ({
  refused,
  newest,
  pinned,
  confirmed,
}: TrustRow): TrustCard['key_status'] =>
  refused !== null || newest > pinned ? 'changed_unverified' : confirmed ? 'confirmed' : 'unchanged'

/** Checks whether an account has other keys than before, or whether its key log was refused. */
function hasChanged(before: TrustRow | null, after: TrustRow): boolean {
  if (before !== null && before.newest > 0 && after.newest > before.newest) return true
  const wasChanged = before !== null && keyStatusOf(before) === 'changed_unverified'
  return keyStatusOf(after) === 'changed_unverified' && !wasChanged
}

/**
 * Returns the statements for the trust rows.
 * @param nameOf returns the name that this device shows for an account
 */
export function trustRows(db: DatabaseSync, append: Append, nameOf: (account: string) => string) {
  type Flag = 'confirmed' | 'key_unused'
  type Stored = Omit<TrustRow, Flag> & Readonly<Record<Flag, number>>
  const put = statement(
    db,
    `insert into trust
       (account, pinned, confirmed, seq, newest, refused, checked_at, recovered_at, key_unused)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict do update set pinned = excluded.pinned, confirmed = excluded.confirmed, seq = excluded.seq,
       newest = excluded.newest, refused = excluded.refused, checked_at = excluded.checked_at,
       recovered_at = excluded.recovered_at, key_unused = excluded.key_unused`,
  )
  const get = statement<Stored>(db, 'select * from trust where account = ?')
  const all = statement<Stored>(db, 'select * from trust')
  const accounts = statement<{ account: string }>(db, 'select account from trust')
  const remove = statement(db, 'delete from trust where account = ?')

  const parsed = (row: Stored): TrustRow => ({
    ...row,
    confirmed: row.confirmed === 1,
    key_unused: row.key_unused === 1,
  })

  function read(account: string): TrustRow | null {
    const row = get.get(account)
    return row && parsed(row)
  }

  const card = (account: string) => ({ user_id: account, display_name: nameOf(account) })

  function store(row: TrustRow): void {
    const { account, pinned, seq, newest, refused, checked_at, recovered_at } = row
    const [confirmed, keyUnused] = [row.confirmed, row.key_unused].map(Number) as [number, number]
    const asked = [refused, checked_at, recovered_at, keyUnused]
    const before = read(account)
    put.run(account, pinned, confirmed, seq, newest, ...asked)
    if (before === null) append('trust.followed', card(account))
    if (hasChanged(before, row))
      append('trust.keys_changed', { ...card(account), key_status: keyStatusOf(row) })
  }

  return {
    /** Stores or replaces a row. */
    put: (row: TrustRow): void => transaction(db, () => store(row)),
    /** Stores a row with keys that the user has confirmed now. */
    confirm: (row: TrustRow): void =>
      transaction(db, () => {
        const before = read(row.account)
        store(row)
        if (before?.confirmed !== true || before.pinned !== row.pinned)
          append('trust.confirmed', card(row.account))
      }),
    get: read,
    all: (): TrustRow[] => all.all().map(parsed),
    /** Returns the ids of all followed accounts. */
    accounts: (): string[] => accounts.all().map(({ account }) => account),
    /** Deletes a row; returns whether it existed. */
    delete: (account: string): boolean =>
      transaction(db, () => {
        const isGone = remove.run(account) > 0
        if (isGone) append('trust.unfollowed', card(account))
        return isGone
      }),
  }
}
