/**
 * The signed profiles of accounts: the newest one of each active device that signed one. Callers
 * verify profiles before they store them. If a device is revoked, the profile of another one is
 * in force again.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { NameRows } from './names.ts'
import { statement } from '../storage/sqlite.ts'

export interface ProfileRow {
  readonly account: string
  readonly device: string
  readonly n: number
  readonly name: string
  /** SHA-256 of the JWS. */
  readonly hash: Uint8Array
  readonly jws: string
}

export type ProfileRows = ReturnType<typeof profileRows>

/** Returns the statements for the profile rows. They also store the name in force in `names`. */
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
