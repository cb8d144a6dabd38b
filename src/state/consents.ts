/**
 * The consents that this device signed and that have not yet led to membership of its account.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export interface ConsentRow {
  /** base64url SHA-256 of the JWS. */
  readonly hash: string
  readonly connection: string
  readonly invitation: string
  /** Unix milliseconds, by the clock of this device. */
  readonly at: number
  /** Whether the user withdrew it on this device. */
  readonly withdrawn: boolean
  /** Whether the account server reported that the user declined it on another device. */
  readonly declined: boolean
}

/** The stored values of a consent that was just signed. */
type NewConsent = Omit<ConsentRow, 'withdrawn' | 'declined'>

export type ConsentRows = ReturnType<typeof consentRows>

/** Returns the statements for the rows of consents. */
export function consentRows(db: DatabaseSync) {
  type Stored = NewConsent & { readonly withdrawn: number; readonly declined: number }
  // A device that approves twice within a second signs the same consent.
  const put = statement(
    db,
    `insert into consents (hash, connection, invitation, at, withdrawn, declined)
       values (?, ?, ?, ?, 0, 0)
     on conflict do update set at = excluded.at, withdrawn = 0, declined = 0`,
  )
  const get = statement<Stored>(db, 'select * from consents where hash = ?')
  const connections = statement<{ connection: string }>(
    db,
    'select distinct connection from consents',
  )
  const withdraw = statement(
    db,
    `update consents set withdrawn = 1
     where connection in (select connection from consents where invitation = ?)`,
  )
  const decline = statement(db, 'update consents set declined = 1 where invitation = ?')
  const remove = statement(db, 'delete from consents where hash = ?')
  return {
    put({ hash, connection, invitation, at }: NewConsent): void {
      put.run(hash, connection, invitation, at)
    },
    get(hash: string): ConsentRow | null {
      const row = get.get(hash)
      return row && { ...row, withdrawn: row.withdrawn === 1, declined: row.declined === 1 }
    },
    /** Returns the ids of the connections that have a consent. */
    connections: (): string[] => connections.all().map(({ connection }) => connection),
    /** Withdraws every consent to the connection of an invitation. */
    withdraw: (invitation: string): void => {
      withdraw.run(invitation)
    },
    /** Marks the consents to one invitation as declined on another device. */
    decline: (invitation: string): void => {
      decline.run(invitation)
    },
    delete: (hash: string): void => {
      remove.run(hash)
    },
  }
}
