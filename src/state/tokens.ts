/**
 * API tokens, stored by token hash: when each was revoked and last used. The other data of a token
 * is in the keychain.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Append } from './events.ts'
import { metaRows } from './meta.ts'
import { statement, transaction } from '../storage/sqlite.ts'

interface TokenRow {
  /** SHA-256 of the token, hex. */
  readonly hash: string
  readonly id: string
  readonly created_at: number
  readonly revoked_at: number | null
  readonly last_used_at: number | null
}

/** Returns the name of a token's keychain entry. */
export const tokenEntry = (id: string): string => `token/${id}`

/** The meta key under which the id of the token being created is stored. */
const BEGUN = 'token_begun'

export type TokenRows = ReturnType<typeof tokenRows>

/** Returns the statements for the token rows. */
export function tokenRows(db: DatabaseSync, append: Append) {
  const insert = statement(db, 'insert into tokens (hash, id, created_at) values (?, ?, ?)')
  const all = statement<TokenRow>(
    db,
    'select hash, id, created_at, revoked_at, last_used_at from tokens order by id desc',
  )
  const revoke = statement(
    db,
    'update tokens set revoked_at = ? where id = ? and revoked_at is null',
  )
  const remove = statement(db, 'delete from tokens where id = ?')
  const touch = statement(
    db,
    'update tokens set last_used_at = max(coalesce(last_used_at, 0), ?) where id = ?',
  )
  const meta = metaRows(db)
  return {
    /** Stores the id of a token before the token is created. */
    begin: (id: string): void => meta.set(BEGUN, id),
    /** Returns the id of a token that was begun but not completed; null if there is none. */
    begun: () => meta.get(BEGUN) as string | null,
    /** Deletes the id of the begun token. */
    giveUp: (): void => meta.delete(BEGUN),
    /** Stores a token. The name is only for its event. */
    insert: (row: Pick<TokenRow, 'hash' | 'id' | 'created_at'>, name: string): void =>
      transaction(db, () => {
        insert.run(row.hash, row.id, row.created_at)
        append('token.created', { token_id: row.id, name })
        meta.delete(BEGUN)
      }),
    /** Returns every token, including revoked ones, newest first. */
    all: (): TokenRow[] => all.all(),
    /**
     * Revokes a token. A second call does not change the time of revocation. The name is only for
     * the event.
     */
    revoke: (id: string, at: number, name: string): void =>
      transaction(db, () => {
        if (revoke.run(at, id) > 0) append('token.revoked', { token_id: id, name })
      }),
    /**
     * Deletes a token. Its id is stored like that of a begun token, until its keychain entry is
     * deleted.
     */
    drop: (id: string): void =>
      transaction(db, () => {
        remove.run(id)
        meta.set(BEGUN, id)
      }),
    /** Stores when tokens were last used, in one transaction. A stored time never decreases. */
    touch(uses: Iterable<{ readonly id: string; readonly at: number }>): void {
      transaction(db, () => {
        for (const { id, at } of uses) touch.run(at, id)
      })
    },
  }
}
