/**
 * The names of accounts, by what they rest on. `accepted`: as the account server had it when they
 * were accepted here. `self`: what they signed last. `confirmed`: what they had signed when the
 * person confirmed their keys. `given`: by the person.
 */
import type { DatabaseSync } from 'node:sqlite'
import { comparableName } from '../crypto/encoding/display-names.ts'
import { statement } from '../storage/sqlite.ts'

export type NameKind = 'accepted' | 'self' | 'confirmed' | 'given'

/** The names of one account. */
export type Names = Readonly<Partial<Record<NameKind, string>>>

export type NameRows = ReturnType<typeof nameRows>

/** A contact is in a connection or is followed. */
const IS_CONTACT = `(exists (select 1 from connection_members where account = names.account)
  or exists (select 1 from trust where account = names.account))`

/** The name rows, by account id. */
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
  // One statement: each costs more than what it looks up.
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

  const namesOf = (account: string): Names =>
    Object.fromEntries(of.all(account).map(({ kind, name }) => [kind, name]))

  /** Keeps a name; null deletes it. */
  function set(account: string, kind: NameKind, name: string | null): void {
    if (name === null) remove.run(account, kind)
    else put.run(account, kind, name, comparableName(name))
  }

  return {
    /** Stores the name under which an account was accepted, unless there is one; returns the stored one. */
    pin(account: string, name: string): string {
      insert.run(account, name, comparableName(name))
      return namesOf(account).accepted ?? name
    },
    /** The name under which an account was accepted. */
    get: (account: string): string | null => namesOf(account).accepted ?? null,
    of: namesOf,
    set,
    /**
     * The name that they have signed is the confirmed one from now on; where the keys that were
     * confirmed have signed none, there is no confirmed name until they do.
     */
    confirm(account: string): void {
      set(account, 'confirmed', namesOf(account).self ?? null)
    },
    /** Forgets the names of an account; what it signed stays, so that nothing older replaces it. */
    delete: (account: string): boolean => removeAll.run(account) > 0,
    /**
     * Whether another contact has a name: an account, a live guest code, its external member, or the
     * connection with one other member.
     * @param comparable as `comparableName` has it
     * @param account the account with that name; '' for a guest, for which other guests do not count
     * @param own the own account id, which is no contact
     */
    isOthers(comparable: string, account: string, own: string): boolean {
      // A name without letters is no one's.
      if (comparable === '') return false
      return ofOthers.get(comparable, account, own)?.found === 1
    },
  }
}
