/**
 * First contacts by four words that this device takes part in. The words lie sealed in the vault,
 * and only while a run is open.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export interface FirstContactRow {
  readonly invitation: string
  readonly connection: string
  readonly role: 'inviter' | 'invitee'
  /** The other side: the id of an account; of an invited mailbox the address, until it answers. */
  readonly peer: string
  /** The session id of the run: 16 bytes, base64url. */
  readonly sid: string
  /**
   * `answered`: the inviter's reply may have left, and the words are used; at the invitee, the
   * reply was right.
   */
  readonly state: 'open' | 'answered' | 'confirmed' | 'failed'
  readonly reason: string | null
  /** Unix milliseconds. */
  readonly started_at: number
  /** Unix milliseconds: then it ends. */
  readonly until: number
}

export type FirstContactRows = ReturnType<typeof firstContactRows>

/** The rows of first contacts, and of the tries of words that others made. */
export function firstContactRows(db: DatabaseSync) {
  const put = statement(
    db,
    `insert into first_contacts (invitation, connection, role, peer, sid, state, reason, started_at, until)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict do update set connection = excluded.connection, role = excluded.role,
       peer = excluded.peer, sid = excluded.sid, state = excluded.state, reason = excluded.reason,
       started_at = excluded.started_at, until = excluded.until`,
  )
  const get = statement<FirstContactRow>(db, 'select * from first_contacts where invitation = ?')
  const all = statement<FirstContactRow>(
    db,
    'select * from first_contacts order by started_at desc, invitation',
  )
  const running = statement<FirstContactRow>(
    db,
    `select * from first_contacts where state in ('open', 'answered')`,
  )
  const dropEnded = statement(
    db,
    `delete from first_contacts where state in ('confirmed', 'failed') and until <= ?`,
  )
  const addTry = statement(db, 'insert into contact_tries (invitation, at) values (?, ?)')
  const tries = statement<{ count: number }>(
    db,
    'select count(*) as count from contact_tries where invitation = ? and at > ?',
  )
  const dropTries = statement(db, 'delete from contact_tries where at <= ?')
  return {
    put(row: FirstContactRow): void {
      const { invitation, connection, role, peer, sid, state, reason, started_at, until } = row
      put.run(invitation, connection, role, peer, sid, state, reason, started_at, until)
    },
    get: (invitation: string): FirstContactRow | null => get.get(invitation),
    /** Newest first. */
    all: (): FirstContactRow[] => all.all(),
    /** Those that have not ended. */
    running: (): FirstContactRow[] => running.all(),
    /** Deletes those that ended, and whose time was over at a time in Unix milliseconds. */
    dropEnded(before: number): void {
      dropEnded.run(before)
    },
    /** Counts a try of the words of an invitation, at a time in Unix milliseconds. */
    addTry(invitation: string, at: number): void {
      addTry.run(invitation, at)
    },
    /** How many tries were made after a time in Unix milliseconds. */
    tries: (invitation: string, after: number): number => tries.get(invitation, after)?.count ?? 0,
    /** Deletes tries that were made until a time in Unix milliseconds. */
    dropTries(until: number): void {
      dropTries.run(until)
    },
  }
}
