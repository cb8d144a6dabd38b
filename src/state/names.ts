/** The names and the signed profiles of accounts. */
import type { DatabaseSync } from 'node:sqlite'
import type { PersonName } from '../api/rest/names.ts'
import { comparableName } from '../crypto/encoding/display-names.ts'
import { statement } from '../storage/sqlite.ts'
import { keyStatusOf, type TrustRow } from './trust.ts'

/**
 * The source of a name.
 *
 * - `accepted`: the name that the account server gave when this device accepted the account
 * - `self`: the name that the account signed last
 * - `confirmed`: the signed name when the user confirmed the account's keys
 * - `given`: the name that the user chose for the account
 */
type NameKind = 'accepted' | 'self' | 'confirmed' | 'given'

/** The names of one account. */
type LocalNames = Readonly<Partial<Record<NameKind, string>>>

type NameRows = ReturnType<typeof nameRows>

/** A contact is an account in a connection, or an account with keys that this device follows. */
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
  // One SQL statement for all look-ups, because executing a statement costs more than a look-up.
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
    /** Stores the accepted name of an account unless one is stored. Returns the stored name. */
    pin(account: string, name: string): string {
      insert.run(account, name, comparableName(name))
      return namesOf(account).accepted ?? name
    },
    /** Returns the accepted name of an account; null if there is none. */
    get: (account: string): string | null => namesOf(account).accepted ?? null,
    of: namesOf,
    set,
    /**
     * Stores the signed name as the confirmed name. If the account has not signed a name with the
     * confirmed keys, deletes the confirmed name.
     */
    confirm(account: string): void {
      set(account, 'confirmed', namesOf(account).self ?? null)
    },
    /**
     * Deletes an account's names except the signed one. Returns whether there were any.
     *
     * The signed name stays so that no older signed name can replace it.
     */
    delete: (account: string): boolean => removeAll.run(account) > 0,
    /**
     * Checks whether a name belongs to another contact.
     *
     * Contacts are accounts, active guest codes, the external members of guest codes, and
     * connections with one other member.
     * @param comparable the name as `comparableName` returns it
     * @param account the account that has the name; '' for a guest, which is not compared with
     *   other guests
     * @param own the own account id, which is not a contact
     */
    isOthers(comparable: string, account: string, own: string): boolean {
      // A name without letters is empty when normalised, so it matches nothing.
      if (comparable === '') return false
      return ofOthers.get(comparable, account, own)?.found === 1
    },
  }
}

/**
 * Returns the name of another account (protocol, section 4a): the first that exists of the given
 * name, the confirmed name, if the keys are still confirmed, the signed name and the accepted name.
 * @param fromServer the account server's name, used if this device has no other name
 */
export function shownName(
  rows: {
    readonly names: Pick<NameRows, 'of'>
    readonly trust: { get(account: string): TrustRow | null }
  },
  account: string,
  fromServer: string,
): Pick<PersonName, 'display_name' | 'name_source'> {
  const { given, confirmed, self, accepted } = rows.names.of(account)
  if (given !== undefined) return { display_name: given, name_source: 'given' }
  const trust = confirmed === undefined ? null : rows.trust.get(account)
  if (confirmed !== undefined && trust !== null && keyStatusOf(trust) === 'confirmed')
    return { display_name: confirmed, name_source: 'confirmed' }
  if (self !== undefined) return { display_name: self, name_source: 'self' }
  return { display_name: accepted ?? fromServer, name_source: 'server' }
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
 * Returns the statements for the signed profiles: the newest profile of each active device.
 *
 * Callers must verify profiles before they store them. The current profile has the highest `n`. If
 * its device is revoked, another device's profile becomes current. The current name is also stored
 * in `names`.
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

  /** Returns the current profile; null if there is none. */
  const get = (account: string): ProfileRow | null => inForce.get(account)

  return {
    get,
    /** Stores a profile, which replaces the same device's previous profile. */
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
