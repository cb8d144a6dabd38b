/** The names and the signed profiles of accounts. */
import type { DatabaseSync } from 'node:sqlite'
import { comparableName } from '../crypto/encoding/display-names.ts'
import { statement } from '../storage/sqlite.ts'

/**
 * The source of a name. `accepted`: the account server's name at acceptance here. `self`: the name
 * that the account signed last. `confirmed`: the signed name at the time when the user confirmed
 * its keys. `given`: the name that the user gave.
 */
type NameKind = 'accepted' | 'self' | 'confirmed' | 'given'

/** The names of one account. */
export type LocalNames = Readonly<Partial<Record<NameKind, string>>>

type NameRows = ReturnType<typeof nameRows>

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

interface ProfileRow {
  readonly account: string
  readonly device: string
  readonly n: number
  readonly name: string
  /** SHA-256 of the JWS. */
  readonly hash: Uint8Array
  readonly jws: string
}

/**
 * Returns the statements for the signed profiles: the newest one of each active device that signed
 * one. Callers verify profiles before they store them. If a device is revoked, the profile of
 * another one is in force again. The name in force is stored in `names`.
 */
export function profileRows(db: DatabaseSync, names: Pick<NameRows, 'set'>) {
  const put = statement(
    db,
    `insert into profiles (account, device, n, name, hash, jws) values (?, ?, ?, ?, ?, ?)
     on conflict do update set n = excluded.n, name = excluded.name, hash = excluded.hash,
       jws = excluded.jws`,
  )
  const inForce = statement<ProfileRow>(
    db,
    'select * from profiles where account = ? order by n desc, hash limit 1',
  )
  const devices = statement<{ device: string }>(db, 'select device from profiles where account = ?')
  const remove = statement(db, 'delete from profiles where account = ? and device = ?')

  /** Returns the profile in force; null for none. */
  const get = (account: string): ProfileRow | null => inForce.get(account)

  return {
    get,
    /** Stores a profile and replaces the one of the same device. */
    put({ account, device, n, name, hash, jws }: ProfileRow): void {
      put.run(account, device, n, name, hash, jws)
      names.set(account, 'self', get(account)?.name ?? null)
    },
    /** Deletes the profiles of an account that were signed by devices not in `active`. */
    keepOf(account: string, active: ReadonlySet<string>): void {
      const gone = devices.all(account).filter(({ device }) => !active.has(device))
      for (const { device } of gone) remove.run(account, device)
      if (gone.length > 0) names.set(account, 'self', get(account)?.name ?? null)
    },
  }
}
