/** How accounts come into connections: invites, invitations, consents and first contacts. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export interface PendingInvite {
  readonly connection: string
  /** An account id, or a mailbox in lower case. */
  readonly target: string
  /**
   * The id that the account server assigned; null before that, and if the server is not involved.
   */
  readonly invitation: string | null
  /**
   * Whether the target was a member before, and its new keys were confirmed. It is added again
   * without an invitation.
   */
  readonly again: boolean
  /**
   * The newest roster entry when the invite was made. A member who leaves after it needs another.
   */
  readonly seq: number
  /** Unix milliseconds: the end of the invite. */
  readonly until: number
}

/**
 * Returns the statements for the accounts and mailboxes that this device invited. An owner's
 * device adds only these as members, even if the account server reports other approvals, since a
 * dishonest server could name a device of its own.
 */
export function inviteRows(db: DatabaseSync) {
  type Stored = Omit<PendingInvite, 'again'> & { readonly again: number }
  const parsed = (row: Stored): PendingInvite => ({ ...row, again: row.again === 1 })
  const put = statement(
    db,
    `insert into invites (connection, target, invitation, again, seq, until) values (?, ?, ?, ?, ?, ?)
     on conflict do update set invitation = excluded.invitation, again = excluded.again, seq = excluded.seq,
       until = excluded.until`,
  )
  const get = statement<Stored>(db, 'select * from invites where connection = ? and target = ?')
  const all = statement<Stored>(db, 'select * from invites')
  const again = statement<Stored>(db, 'select * from invites where again = 1')
  const remove = statement(db, 'delete from invites where connection = ? and target = ?')
  const dropOld = statement(db, 'delete from invites where until <= ?')
  const dropAgain = statement(db, 'delete from invites where target = ? and again = 1')
  const clear = statement(db, 'delete from invites where connection = ?')
  return {
    put: ({ connection, target, invitation, again: isAgain, seq, until }: PendingInvite): void => {
      put.run(connection, target, invitation, isAgain ? 1 : 0, seq, until)
    },
    get(connection: string, target: string): PendingInvite | null {
      const row = get.get(connection, target)
      return row && parsed(row)
    },
    all: (): PendingInvite[] => all.all().map(parsed),
    /** Returns the invites of accounts with new keys that wait for a `confirm`. */
    again: (): PendingInvite[] => again.all().map(parsed),
    delete: (connection: string, target: string): boolean => remove.run(connection, target) > 0,
    /** Deletes the invites that ended at or before a time in Unix milliseconds. */
    dropOld: (now: number): void => {
      dropOld.run(now)
    },
    /** Deletes the invites of a member with new keys that wait for a `confirm`. */
    dropAgain: (target: string): void => {
      dropAgain.run(target)
    },
    /** Deletes all invites of one connection. */
    clear: (connection: string): void => {
      clear.run(connection)
    },
  }
}

interface ListedInvitation {
  readonly id: string
  readonly connection: string
  /** An account id. */
  readonly inviter: string
  /** Whether it was listed with another inviter or connection since. */
  readonly changed: boolean
  /** When it was last listed, in Unix milliseconds. */
  readonly listed_at: number
  /**
   * The only caller that may approve by this row: a token id, or '' for the command line; null:
   * any.
   */
  readonly reader: string | null
}

/**
 * Returns the statements for the inviter and the connection of each invitation, as the account
 * server listed it.
 */
export function listedInvitationRows(db: DatabaseSync) {
  type Stored = Omit<ListedInvitation, 'changed'> & { readonly changed: number }
  const put = statement(
    db,
    `insert into listed_invitations (id, connection, inviter, changed, listed_at, reader)
     values (?, ?, ?, ?, ?, ?)
     on conflict do update set changed = excluded.changed, listed_at = excluded.listed_at,
       reader = excluded.reader`,
  )
  const get = statement<Stored>(db, 'select * from listed_invitations where id = ?')
  const count = statement<{ all: number }>(db, 'select count(*) as "all" from listed_invitations')
  const newest = statement<{ at: number | null }>(
    db,
    'select max(listed_at) as at from listed_invitations',
  )
  const dropOld = statement(db, 'delete from listed_invitations where listed_at < ?')
  const dropBeyond = statement(
    db,
    `delete from listed_invitations where id in
       (select id from listed_invitations order by listed_at desc, id desc limit -1 offset ?)`,
  )
  return {
    /**
     * Stores an invitation. Of a stored one, it updates only `changed`, `listed_at` and `reader`.
     */
    put({ id, connection, inviter, changed, listed_at, reader }: ListedInvitation): void {
      put.run(id, connection, inviter, Number(changed), listed_at, reader)
    },
    count: (): number => count.get()!.all,
    /** Returns when the newest was listed, in Unix milliseconds; 0 if there is none. */
    newest: (): number => newest.get()!.at ?? 0,
    get(id: string): ListedInvitation | null {
      const row = get.get(id)
      return row && { ...row, changed: row.changed === 1 }
    },
    /** Deletes the invitations last listed before a time in Unix milliseconds. */
    dropOld(before: number): void {
      dropOld.run(before)
    },
    /**
     * Deletes all but the `most` invitations that were listed last; returns how many were
     * deleted.
     */
    dropBeyond: (most: number): number => dropBeyond.run(most),
  }
}

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

/**
 * Returns the statements for the consents that this device signed and that have not yet led to
 * membership of its account.
 */
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

/**
 * Returns the statements for the first contacts by four words in which this device takes part, and
 * for the attempts of others to use words. The vault keeps the words sealed, and only while a run
 * is open.
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
