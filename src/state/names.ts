/**
 * The names of accounts, by source. `accepted`: the account server's name at acceptance here.
 * `self`: the name that the account signed last. `confirmed`: the signed name at the time when
 * the user confirmed its keys. `given`: the name that the user gave.
 */
import type { DatabaseSync } from 'node:sqlite'
import { comparableName } from '../crypto/encoding/display-names.ts'
import { statement } from '../storage/sqlite.ts'

export type NameKind = 'accepted' | 'self' | 'confirmed' | 'given'

/** The names of one account. */
export type LocalNames = Readonly<Partial<Record<NameKind, string>>>

export type NameRows = ReturnType<typeof nameRows>

/** A contact is an account in a connection, or one that this device follows. */
const IS_CONTACT = `(exists (select 1 from connection_members where account = names.account)
  or exists (select 1 from trust where account = names.account))`

/** Returns the statements for the name rows, by account id. */
export function nameRows(db: DatabaseSync) {
  const insert = statement(
    db,
    `insert into names (account, kind, name, comparable) values (?, 'accepted', ?, ?)
     on conflict do nothing`,
  )
  const put = statement(
    db,
    `insert into names (account, kind, name, comparable) values (?, ?, ?, ?)
     on conflict do update set name = excluded.name, comparable = excluded.comparable`,
  )
  const of = statement<{ kind: NameKind; name: string }>(
    db,
    'select kind, name from names where account = ?',
  )
  const remove = statement(db, 'delete from names where account = ? and kind = ?')
  const removeAll = statement(db, `delete from names where account = ? and kind <> 'self'`)
  // One statement, because running each one costs more than its look-up.
  const ofOthers = statement<{ found: number }>(
    db,
    `select exists (select 1 from names
       where comparable = ?1 and account not in (?2, ?3) and ${IS_CONTACT})
     or (?2 <> '' and (
       exists (select 1 from guests
         where state = 'active' and (comparable = ?1 or external_comparable = ?1))
       or exists (select 1 from connections where comparable = ?1
         and (select count(*) from connection_members where connection = connections.id) = 2
         and not exists (select 1 from connection_members
           where connection = connections.id and account = ?2)))) as found`,
  )

  const namesOf = (account: string): LocalNames =>
    Object.fromEntries(of.all(account).map(({ kind, name }) => [kind, name]))

  /** Stores a name; null deletes it. */
  function set(account: string, kind: NameKind, name: string | null): void {
    if (name === null) remove.run(account, kind)
    else put.run(account, kind, name, comparableName(name))
  }

  return {
    /**
     * Stores the name under which an account was accepted, unless there is one; returns the
     * stored one.
     */
    pin(account: string, name: string): string {
      insert.run(account, name, comparableName(name))
      return namesOf(account).accepted ?? name
    },
    /** Returns the name under which an account was accepted; null if there is none. */
    get: (account: string): string | null => namesOf(account).accepted ?? null,
    of: namesOf,
    set,
    /**
     * Makes the signed name the confirmed one. If the confirmed keys have signed no name, there
     * is no confirmed name until they do.
     */
    confirm(account: string): void {
      set(account, 'confirmed', namesOf(account).self ?? null)
    },
    /**
     * Deletes the names of an account except the signed one, which stays so that no older one
     * replaces it.
     */
    delete: (account: string): boolean => removeAll.run(account) > 0,
    /**
     * Whether another contact has a name. Contacts are accounts, live guest codes, their external
     * members, and connections with one other member.
     * @param comparable as `comparableName` returns it
     * @param account the account with that name; '' for a guest, for which other guests do not
     *   count
     * @param own the own account id, which is no contact
     */
    isOthers(comparable: string, account: string, own: string): boolean {
      // A name without letters belongs to no contact.
      if (comparable === '') return false
      return ofOthers.get(comparable, account, own)?.found === 1
    },
  }
}
