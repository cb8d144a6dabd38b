/**
 * The first contacts by four words in which this device takes part. The vault keeps the words
 * sealed, and only while a run is open.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export interface FirstContactRow {
  readonly invitation: string
  readonly connection: string
  readonly role: 'inviter' | 'invitee'
  /**
   * The other side: an account id; for an invited mailbox its address until the invitee answers.
   */
  readonly peer: string
  /** The session id of the run: 16 bytes, base64url. */
  readonly sid: string
  /**
   * `answered`, on the inviter's side: the reply may have been sent, and the words are used. On
   * the invitee's side: the reply was right.
   */
  readonly state: 'open' | 'answered' | 'confirmed' | 'failed'
  readonly reason: string | null
  /** Unix milliseconds. */
  readonly started_at: number
  /** Unix milliseconds: the end of the run. */
  readonly until: number
}

export type FirstContactRows = ReturnType<typeof firstContactRows>

/**
 * Returns the statements for the rows of first contacts, and of the attempts of others to use
 * words.
 */
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
    /** Returns all first contacts, newest first. */
    all: (): FirstContactRow[] => all.all(),
    /** Returns the first contacts that have not ended. */
    running: (): FirstContactRow[] => running.all(),
    /** Deletes the ended first contacts with `until` at or before a time in Unix milliseconds. */
    dropEnded(before: number): void {
      dropEnded.run(before)
    },
    /** Counts an attempt at the words of an invitation, at a time in Unix milliseconds. */
    addTry(invitation: string, at: number): void {
      addTry.run(invitation, at)
    },
    /** Returns how many attempts were made after a time in Unix milliseconds. */
    tries: (invitation: string, after: number): number => tries.get(invitation, after)?.count ?? 0,
    /** Deletes the attempts made at or before a time in Unix milliseconds. */
    dropTries(until: number): void {
      dropTries.run(until)
    },
  }
}
