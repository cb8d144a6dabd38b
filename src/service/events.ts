/**
 * Domain events: plain data about each change in the account server. The code that makes a change
 * publishes its event in the same transaction. `subscribers.ts` lists what each event causes:
 * notifications, letters, trust card history, and organisations' activity and alerts.
 */
import type { Kysely, Transaction } from 'kysely'
import type { CallerSession } from '../api/port.ts'
import type { Invitee } from '../api/rest/connections.ts'
import type { OrgEvent, OrgRole } from '../api/rest/org.ts'
import type { VerificationEntry } from '../api/rest/verify.ts'
import type { Background } from './db/background.ts'
import type { Schema } from './db/schema.ts'
import { transactionWithMarks } from './db/sync-marks.ts'
import { type Mail, type OutgoingLetter, sendAll } from './mail/mailer.ts'

/** An account, and the time of the change in Unix milliseconds. */
interface OfAccount {
  readonly account: string
  readonly at: number
}

/** A change made by a session, which counts for the session's active organisation. */
interface OfSession {
  readonly by: CallerSession
  readonly at: number
}

/** A change in an organisation. */
interface InOrganisation {
  readonly organisation: { readonly id: string; readonly name: string }
  readonly actor: string
  readonly at: number
}

/** The inviting account, its name for the connection, and its invitations' message and validity. */
export interface Inviter {
  readonly account: string
  readonly connection: string
  readonly name: string
  /** The message to the invited people. */
  readonly message: string | null
  /** How long the invitations are valid, in milliseconds. */
  readonly goodForMs: number
}

/** The invited account or mailbox. */
export interface InvitationTarget {
  readonly account: string | null
  readonly email: string | null
}

/** Changes of an account and its keys. */
type AccountEvent =
  /** A device enrolled. Or it renewed its session, and an organisation has invited the account. */
  | ({ readonly type: 'account.signed_in' } & OfAccount)
  /** A mailbox was confirmed. `primary`: the previous primary address; null if there was none. */
  | ({
      readonly type: 'email.added'
      readonly email: string
      readonly address: string
      readonly primary: string | null
    } & OfAccount)
  /** An entry was appended to the key log. */
  | ({ readonly type: 'key_log.appended' } & OfAccount)
  /** A device signed a new name for the account. */
  | ({ readonly type: 'profile.signed' } & OfAccount)
  /** Another device approved this one. */
  | ({ readonly type: 'device.added'; readonly device: string; readonly name: string } & OfAccount)
  /** The device signed out, or another device revoked it. */
  | ({
      readonly type: 'device.revoked'
      readonly device: string
      readonly name: string
    } & OfAccount)
  | ({
      readonly type: 'recovery_key.changed'
      readonly device: string
      readonly name: string
    } & OfAccount)
  /**
   * A new device replaced all other devices. `withKey`: whether the recovery key signed the reset.
   */
  | ({
      readonly type: 'account.reset'
      readonly device: string
      readonly deviceName: string
      readonly withKey: boolean
    } & OfAccount)
  /** A device gave a webhook up. `since`: when its first attempt failed, Unix milliseconds. */
  | ({
      readonly type: 'webhook.given_up'
      readonly device: string
      readonly webhook: string
      /** The id of the event on the device. */
      readonly event: string
      readonly name: string
      readonly since: number
    } & OfAccount)
  | ({
      readonly type: 'token.created' | 'token.revoked'
      readonly token: string
    } & OfSession)

/** An account that had received an invitation, which has now ended. */
export interface Receiver {
  readonly account: string
  readonly invitation: string
  readonly connection: string
  readonly connectionName: string
  /** The display name of the inviter. */
  readonly from: string
  /** Whether the invitation was in the account's list. */
  readonly isListed: boolean
}

/** Changes of connections and invitations. */
type ConnectionEvent =
  | ({ readonly type: 'connection.created'; readonly connection: string } & OfSession)
  /**
   * A verified entry was appended to a roster. `name`: the name that a removed member had given the
   * connection.
   */
  | {
      readonly type: 'roster.appended'
      readonly connection: string
      readonly op: string
      readonly actor: string
      readonly member: string | null
      readonly name: string | null
      readonly at: number
    }
  /** The account is about to be deleted, and is no longer a member. */
  | ({ readonly type: 'member.deleted'; readonly connection: string } & OfAccount)
  /**
   * An invitation was sent. Exactly one of the target's `account` and `email` (in lower case) is
   * null.
   */
  | {
      readonly type: 'invitation.sent'
      readonly invitation: string
      readonly by: Inviter
      readonly target: InvitationTarget
      readonly at: number
    }
  | {
      readonly type: 'invitation.answered'
      readonly answer: 'approved' | 'declined'
      /** The account that answered. */
      readonly by: string
      readonly invitation: string
      readonly connection: string
      readonly connectionName: string
      /** The account that invited. */
      readonly from: string
      readonly to: {
        readonly account: string | null
        readonly email: string | null
        readonly name: string | null
      }
      readonly at: number
    }
  | {
      readonly type: 'invitation.withdrawn'
      readonly receivers: readonly Receiver[]
      readonly at: number
    }
  | {
      readonly type: 'invitation.expired'
      readonly invitation: string
      readonly connection: string
      readonly connectionName: string
      /** The account that invited. */
      readonly from: string
      readonly to: { readonly account: string | null; readonly email: string | null }
      /**
       * Whether the account had approved the invitation, but no device of the inviter added it in
       * time.
       */
      readonly isApproved: boolean
      readonly receivers: readonly Receiver[]
      readonly at: number
    }

/** Changes of guest codes, open links, trust cards, verifications, exports and stamps. */
type OtherEvent =
  /** The page of a guest code was opened for the first time. */
  | ({
      readonly type: 'guest_code.opened'
      readonly code: string
      readonly label: string
    } & OfAccount)
  /** Guest codes end within a day. `expires`: when a code ends, Unix milliseconds. */
  | {
      readonly type: 'guest_code.ending'
      readonly codes: readonly {
        readonly account: string
        readonly code: string
        readonly label: string
        readonly expires: number
      }[]
      readonly at: number
    }
  /** A guest code of the account was revoked. */
  | ({ readonly type: 'guest_code.revoked'; readonly code: string } & OfAccount)
  /** A request at an open link of the account was confirmed by mail, and is pending. */
  | ({
      readonly type: 'open_link.requested'
      readonly link: string
      readonly request: string
      readonly name: string
      readonly email: string
    } & OfAccount)
  /** A connection is being opened for a request at an open link. The request must be pending. */
  | ({
      readonly type: 'open_link.approved'
      readonly request: string
      readonly connection: string
      readonly invite: readonly Invitee[]
    } & OfAccount)
  /** A request at an open link of the account was approved or declined. */
  | ({ readonly type: 'open_link.answered'; readonly request: string } & OfAccount)
  /** An open link of the account was deleted, with its requests. */
  | ({ readonly type: 'open_link.deleted'; readonly link: string } & OfAccount)
  | ({ readonly type: 'trust_card.created'; readonly watched: string } & OfAccount)
  | ({
      readonly type: 'trust_card.changed'
      readonly watched: string
      readonly isConfirmed: boolean
      readonly isNoted: boolean
    } & OfAccount)
  /** `accepted`: the ids of those entries that were not logged before. */
  | ({
      readonly type: 'verification.logged'
      readonly entries: readonly VerificationEntry[]
      readonly accepted: readonly string[]
    } & OfSession)
  /** An export was built. `expires`: when its file will be deleted, Unix milliseconds. */
  | ({
      readonly type: 'export.ready'
      readonly export: string
      readonly expires: number
    } & OfAccount)
  | ({
      readonly type: 'export.failed'
      readonly export: string
      readonly reason: string
    } & OfAccount)
  | ({ readonly type: 'stamp.created'; readonly stamp: string } & OfSession)

/** Changes of organisations, their members, groups, alerts and machine accounts. */
type OrganisationEvent =
  | {
      readonly type: 'machine.created'
      readonly organisation: string
      readonly machine: string
      readonly actor: string
      readonly at: number
    }
  /**
   * `account`: the account that has the mailbox, or null. `wantsMail`: whether its owner wants
   * mails.
   */
  | ({
      readonly type: 'organisation.invited'
      readonly invites: readonly {
        readonly id: string
        readonly email: string
        readonly role: OrgRole
        readonly account: string | null
        readonly wantsMail: boolean
      }[]
    } & InOrganisation)
  /** `isMember`: whether `id` is an account; otherwise it is an invitation. */
  | ({
      readonly type: 'organisation.roles_widened'
      readonly wider: readonly {
        readonly id: string
        readonly role: OrgRole
        readonly isMember: boolean
      }[]
    } & InOrganisation)
  /**
   * `target`: an account or an invitation. `isNotified`: whether it is a person other than the
   * actor.
   */
  | ({
      readonly type: 'organisation.member_changed'
      readonly change:
        'member_joined' | 'member_activated' | 'member_suspended' | 'member_role_changed'
      readonly target: string
      readonly role: OrgRole
      readonly isNotified: boolean
    } & InOrganisation)
  /** An account used the invitations to its mailboxes. */
  | ({
      readonly type: 'organisation.joined'
      readonly organisation: string
      readonly change: 'member_joined' | 'member_role_changed'
      readonly role: OrgRole
    } & OfAccount)
  /** A member's account was deleted. `member`: the member id in the organisation. */
  | {
      readonly type: 'organisation.left'
      readonly organisation: string
      readonly member: string
      readonly at: number
    }
  | {
      readonly type: 'organisation.group' | 'organisation.alert'
      readonly organisation: string
      readonly change: OrgEvent
      readonly actor: string
      readonly target: string
      readonly data: Readonly<Record<string, string>>
      readonly at: number
    }

type DomainEvent = AccountEvent | ConnectionEvent | OtherEvent | OrganisationEvent
export type DomainEventType = DomainEvent['type']
/** The event with the given type. */
export type EventOf<T extends DomainEventType> = DomainEvent & { readonly type: T }

/** The transaction of an event, and ways to do work after its commit. */
interface EventContext {
  readonly trx: Transaction<Schema>
  /** Sends a letter in the background once the transaction is committed. */
  readonly send: (letter: OutgoingLetter) => void
  /** Runs work after the transaction is committed and before the caller's request is answered. */
  readonly afterCommit: (work: () => Promise<void>) => void
}

export type Subscriber<T extends DomainEventType> = (
  scope: EventContext,
  event: EventOf<T>,
) => Promise<void> | void

/** The subscribers of each event, in the order in which they run. */
export type Subscribers = { readonly [T in DomainEventType]: readonly Subscriber<T>[] }

export interface Events {
  /** Runs a transaction that publishes events and marks changes for syncs. */
  readonly transaction: <R>(work: (trx: Transaction<Schema>) => Promise<R>) => Promise<R>
  /**
   * Runs the subscribers of an event, one after the other. To avoid deadlocks, a transaction must
   * lock the rows of notifications, alerts and activity last. So it must publish events with such
   * subscribers at its end, and events of several organisations in the order of the organisations'
   * ids.
   * @param trx a transaction that was started by `transaction`
   */
  readonly publish: (trx: Transaction<Schema>, event: DomainEvent) => Promise<void>
}

/**
 * Creates the events of an account server.
 * @param subscribers loads the subscribers; called before the first transaction
 */
export function newEvents(
  { db, background, mail }: { db: Kysely<Schema>; background: Background; mail: Mail },
  subscribers: () => Promise<Subscribers>,
): Events {
  const scopes = new WeakMap<Transaction<Schema>, EventContext>()
  return {
    transaction: async (work) => {
      // The subscribers are loaded before the transaction locks any rows.
      await subscribers()
      let letters: OutgoingLetter[] = []
      let after: (() => Promise<void>)[] = []
      const result = await transactionWithMarks(db, async (trx) => {
        // The transaction may be repeated.
        letters = []
        after = []
        const send = (letter: OutgoingLetter) => void letters.push(letter)
        scopes.set(trx, { trx, send, afterCommit: (next) => void after.push(next) })
        return work(trx)
      })
      // The letters are sent in the background, because the change is committed and an unreachable
      // mail relay must not fail the request.
      if (letters.length > 0) background.run(() => sendAll(mail, letters))
      for (const next of after) await next()
      return result
    },

    publish: async (trx, event) => {
      const scope = scopes.get(trx)
      if (scope === undefined)
        throw new Error('Publish this event in a transaction of events.transaction().')
      const all = await subscribers()
      // The subscribers of this type of event. TypeScript cannot infer that they accept this event.
      const own = all[event.type] as readonly Subscriber<DomainEventType>[]
      for (const subscriber of own) await subscriber(scope, event)
    },
  }
}
