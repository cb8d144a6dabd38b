/** API tokens by the hash of the token: whether one is revoked and when it was last used. The rest is in the keychain. */
import type { DatabaseSync } from 'node:sqlite'
import { metaRows } from './meta.ts'
import { statement, transaction } from '../storage/sqlite.ts'

export interface TokenRow {
  /** SHA-256 of the token, hex. */
  readonly hash: string
  readonly id: string
  readonly created_at: number
  readonly revoked_at: number | null
  readonly last_used_at: number | null
  /**
   * The account of a token whose record in the keychain has no `account`; null where it had none.
   */
  readonly legacy_account: string | null
}

/** The name of what the keychain holds of a token. */
export const tokenEntry = (id: string): string => `token/${id}`

/** The id of the token that is being made. */
const BEGUN = 'token_begun'

export type TokenRows = ReturnType<typeof tokenRows>

/** The token rows. */
export function tokenRows(db: DatabaseSync) {
  const insert = statement(db, 'insert into tokens (hash, id, created_at) values (?, ?, ?)')
  const all = statement<TokenRow>(db, 'select * from tokens order by id desc')
  const revoke = statement(
    db,
    'update tokens set revoked_at = ? where id = ? and revoked_at is null',
  )
  const touch = statement(
    db,
    'update tokens set last_used_at = max(coalesce(last_used_at, 0), ?) where id = ?',
  )
  const meta = metaRows(db)
  return {
    /** Notes that a token is being made, before anything else knows of it. */
    begin: (id: string): void => meta.set(BEGUN, id),
    /** The one that was begun and not inserted, null when there is none. */
    begun: () => meta.get(BEGUN) as string | null,
    /** Nothing is left of the one that was begun. */
    giveUp: (): void => meta.delete(BEGUN),
    insert: (row: Pick<TokenRow, 'hash' | 'id' | 'created_at'>): void =>
      transaction(db, () => {
        insert.run(row.hash, row.id, row.created_at)
        meta.delete(BEGUN)
      }),
    /** Every token, revoked ones too, newest first. */
    all: (): TokenRow[] => all.all(),
    /** Revokes; a second time changes nothing, the first moment stays. */
    revoke(id: string, at: number): void {
      revoke.run(at, id)
    },
    /** Notes when tokens were last used, all in one transaction. A time never goes back. */
    touch(uses: Iterable<{ readonly id: string; readonly at: number }>): void {
      transaction(db, () => {
        for (const { id, at } of uses) touch.run(at, id)
      })
    },
  }
}
