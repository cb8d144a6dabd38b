/** How accounts join connections: invites, invitations, consents and first contacts. */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'
import type { Append } from './events.ts'

export interface PendingInvite {
  readonly connection: string
  /** An account id, or a mailbox in lower case. */
  readonly target: string
  /**
   * The invitation id from the account server.
   *
   * Null before the server assigned it, or if the server is not involved.
   */
  readonly invitation: string | null
  /**
   * Whether the target was a member before and the user confirmed its new keys. Such a target is
   * added again without an invitation.
   */
  readonly again: boolean
  /**
   * The seq of the newest roster entry when the invite was made. A member who leaves after this
   * entry needs a new invite.
   */
  readonly seq: number
  /** When the invite expires, Unix milliseconds. */
  readonly until: number
}

/**
 * Returns the statements for the accounts and mailboxes that this device invited.
 *
 * An owner's device adds only these accounts as members. It ignores other approvals that the
 * account server reports, because a dishonest server could report its own device.
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
    /** Returns the pending invites of former members after the user confirmed their new keys. */
    again: (): PendingInvite[] => again.all().map(parsed),
    delete: (connection: string, target: string): boolean => remove.run(connection, target) > 0,
    /** Deletes the invites that ended at or before a time in Unix milliseconds. */
    dropOld: (now: number): void => {
      dropOld.run(now)
    },
    /** Deletes the pending invites of a former member with new keys, in all connections. */
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
  /** Whether the server has since listed it with another inviter or connection. */
  readonly changed: boolean
  /** When it was last listed, in Unix milliseconds. */
  readonly listed_at: number
  /**
   * The only caller that may approve the invitation on the basis of this row.
   *
   * It is a token id, or '' for the command line. Null means any caller.
   */
  readonly reader: string | null
}

/** Returns the statements for the inviter and connection that the server listed per invitation. */
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
     * Stores an invitation. If it is already stored, updates only `changed`, `listed_at` and
     * `reader`.
     */
    put({ id, connection, inviter, changed, listed_at, reader }: ListedInvitation): void {
      put.run(id, connection, inviter, Number(changed), listed_at, reader)
    },
    count: (): number => count.get()!.all,
    /** Returns when an invitation was last listed, Unix milliseconds; 0 if none is stored. */
    newest: (): number => newest.get()!.at ?? 0,
    get(id: string): ListedInvitation | null {
      const row = get.get(id)
      return row && { ...row, changed: row.changed === 1 }
    },
    /** Deletes the invitations last listed before a time in Unix milliseconds. */
    dropOld(before: number): void {
      dropOld.run(before)
    },
    /** Deletes all invitations except the `most` last listed ones. Returns the number deleted. */
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
 * Returns the statements for the consents that this device signed. A consent is deleted when its
 * account becomes a member.
 */
export function consentRows(db: DatabaseSync) {
  type Stored = NewConsent & { readonly withdrawn: number; readonly declined: number }
  // A consent has a time in seconds, so a device that approves twice within one second signs the
  // same consent.
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
    /** Marks every consent to an invitation's connection as withdrawn. */
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
   * The account id of the other side. For an invited mailbox, its address until the invitee
   * responds.
   */
  readonly peer: string
  /** The session id of the run: 16 bytes, base64url. */
  readonly sid: string
  /**
   * `answered` on the inviter's side: the reply may have been sent, so the words are used up. On
   * the invitee's side: the inviter's reply was correct.
   */
  readonly state: 'open' | 'answered' | 'confirmed' | 'failed'
  readonly reason: string | null
  /** Unix milliseconds. */
  readonly started_at: number
  /** When the run ends, Unix milliseconds. */
  readonly until: number
}

/**
 * Returns the statements for first contacts by four words, and for attempts to use the words.
 *
 * The rows are this device's first contacts and the attempts of other accounts. The vault keeps the
 * words sealed, and deletes them when the run ends.
 */
export function firstContactRows(db: DatabaseSync, append: Append) {
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
      transaction(db, () => {
        const before = get.get(invitation)
        put.run(invitation, connection, role, peer, sid, state, reason, started_at, until)
        const isNews = before?.sid !== sid || before.state !== state
        if (isNews && (state === 'confirmed' || state === 'failed'))
          append('first_contact.ended', {
            invitation_id: invitation,
            connection_id: connection,
            state,
          })
      })
    },
    get: (invitation: string): FirstContactRow | null => get.get(invitation),
    /** Returns all first contacts, newest first. */
    all: (): FirstContactRow[] => all.all(),
    /** Returns the first contacts that have not ended. */
    running: (): FirstContactRow[] => running.all(),
    /** Deletes the ended first contacts with an `until` at a time (Unix milliseconds) or before. */
    dropEnded(before: number): void {
      dropEnded.run(before)
    },
    /** Counts an attempt to use the words of an invitation. */
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
