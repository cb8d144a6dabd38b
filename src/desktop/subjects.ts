/**
 * What needs a person, by the type of its event, and how it is shown. Events that only inform are
 * absent. The texts contain no words, secrets or messages.
 */
import type { EventData, EventType } from '../api/live/catalogue.ts'
import { inQuotes } from '../api/name-text.ts'
import type { NotificationKind } from '../api/rest/notifications.ts'
import { oneLine } from '../crypto/encoding/quoted.ts'

/** The longest shown name, in characters. */
const LONGEST = 80

/** Returns a name that others chose, as one line of limited length. */
export const harmless = (name: string): string => oneLine(name, LONGEST)

const quoted = (name: string): string => inQuotes(harmless(name))

/** Names that are not in the events, as sentences; null if they are not known. */
export interface Names {
  /** Who invites, and to which connection. */
  readonly invitation: (id: string) => Promise<string | null>
  /** Who asks at an open link. */
  readonly request: (id: string) => Promise<string | null>
  /** The id of this device; null if no account is signed in. */
  readonly ownDevice: () => string | null
}

/** One kind of thing that needs a person. */
export interface DesktopSubject<Type extends EventType = EventType> {
  readonly type: Type
  /** Whether an event of the type needs a person; absent if each does. */
  readonly needsPerson?: (data: EventData<Type>, names: Names) => boolean
  /** The first line for one event, and for several. */
  readonly one: string
  readonly many: (count: number) => string
  /** Returns what one event is about, as a sentence with its names; absent if it has none. */
  readonly about?: (data: EventData<Type>, names: Names) => Promise<string | null> | string
  /** What the person can do. */
  readonly advice: string
}

const subject = <const Type extends EventType>(
  type: Type,
  of: Omit<DesktopSubject<Type>, 'type'>,
) =>
  // The functions are only called with the data of their own type.
  ({ type, ...of }) as unknown as DesktopSubject

/** Returns the subject of a notification of the account server that has no event of its own. */
const notice = (kind: NotificationKind, of: Pick<DesktopSubject, 'one' | 'many' | 'advice'>) =>
  subject('notification.created', { ...of, needsPerson: (data) => data.kind === kind })

const READ = 'To read more: countersignd notification list'

/** The subjects. The first one that accepts an event shows it. */
export const SUBJECTS: readonly DesktopSubject[] = [
  subject('invitation.received', {
    one: 'You are invited to a connection',
    many: (count) => `${count} invitations to connections`,
    about: ({ invitation_id }, names) => names.invitation(invitation_id),
    advice:
      'Ask the inviter, in a way that you trust, whether they sent it. To answer: countersignd invite list',
  }),
  subject('open_link_request.received', {
    one: 'A person asks to connect',
    many: (count) => `${count} requests at your open links`,
    about: ({ request_id }, names) => names.request(request_id),
    advice: 'The name is not checked. To answer: countersignd link requests',
  }),
  subject('trust.keys_changed', {
    needsPerson: ({ key_status }) => key_status === 'changed_unverified',
    one: 'The keys of a person you follow changed',
    many: (count) => `The keys of people you follow changed ${count} times`,
    about: ({ display_name }) => `The keys of ${quoted(display_name)} changed.`,
    advice:
      'Compare the safety number before you rely on the new keys: countersignd trust list, then trust confirm',
  }),
  subject('connection.suspended', {
    // Other reasons end without a person, or have a notification of the account server.
    needsPerson: ({ reason }) => reason === 'roster_forked',
    one: 'A connection has two histories',
    many: (count) => `${count} connections have two histories`,
    about: ({ name }) =>
      `The account server showed two histories of ${quoted(name)}. Its words prove nothing now.`,
    advice: 'To read more: countersignd connection list',
  }),
  subject('device.waiting', {
    one: 'A new device waits for your approval',
    many: (count) => `${count} new devices wait for your approval`,
    about: ({ name }) => `${quoted(name)} asks to join your account.`,
    advice:
      'If it is yours and in front of you: countersignd device approve. If not: countersignd device list, then device revoke',
  }),
  subject('session.started', {
    needsPerson: ({ approved }) => !approved,
    one: 'This device waits for approval',
    many: () => 'This device waits for approval',
    advice: 'On another device of the account: countersignd device approve',
  }),
  subject('session.ended', {
    needsPerson: ({ reason }) => reason === 'signed_out',
    one: 'This device was signed out',
    many: () => 'This device was signed out',
    advice: 'It has no words now. To sign in again: countersignd login',
  }),
  subject('device.added', {
    needsPerson: ({ device_id }, { ownDevice }) => device_id !== ownDevice(),
    one: 'Your account has a new device',
    many: (count) => `Your account has ${count} new devices`,
    advice: 'If you did not approve it, revoke it: countersignd device list, then device revoke',
  }),
  subject('webhook.given_up', {
    one: 'A webhook was given up',
    many: (count) => `${count} webhooks were given up`,
    about: ({ name }) => (name === null ? '' : `Nothing is sent to ${quoted(name)} now.`),
    advice: 'To see why: countersignd webhook list, then webhook deliveries',
  }),
  notice('connection_ended', {
    one: 'A connection was ended',
    many: (count) => `${count} connections were ended`,
    advice:
      'The words of an ended connection prove nothing. To delete it: countersignd connection list',
  }),
  notice('guest_code_ending', {
    one: 'A guest code is about to end',
    many: (count) => `${count} guest codes are about to end`,
    advice: 'If a guest still needs words, create a new guest code: countersignd guest list',
  }),
  notice('account_reset', {
    one: 'All devices of your account were replaced',
    many: (count) => `All devices of your account were replaced ${count} times`,
    advice: `If you did not do this, another person may have access to your mail. ${READ}`,
  }),
  notice('recovery_key_changed', {
    one: 'Your account has a new recovery key',
    many: (count) => `Your account had ${count} new recovery keys`,
    advice: `If you did not make it, act now. ${READ}`,
  }),
  notice('email_added', {
    one: 'An address was added to your account',
    many: (count) => `${count} addresses were added to your account`,
    advice: `Codes mailed there sign in to your account. ${READ}`,
  }),
  notice('org_invited', {
    one: 'You are invited to an organisation',
    many: (count) => `${count} invitations to organisations`,
    advice: READ,
  }),
]
