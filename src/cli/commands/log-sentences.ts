/** The sentences in which `log` and `sync` show events. */
import type { EventData, EventType } from '../../api/live/catalogue.ts'
import { inQuotes } from '../../api/name-text.ts'
import type { LoggedEvent } from '../event-pages.ts'

/** Names of devices, and people of invitations and requests, by id. Events contain only the ids. */
export type LogNames = ReadonlyMap<string, string>

const calledBy = (names: LogNames, id: string): string => names.get(id) ?? id

type Invitation = EventData<'invitation.sent'>

/** Returns a sentence about what happened to an invitation that this account sent or received. */
const aboutInvitation =
  (sent: string, received = sent) =>
  ({ invitation_id: id, direction }: Invitation, names: LogNames): string =>
    (direction === 'sent' ? sent : received).replace('%', () => calledBy(names, id))

type Check = EventData<'verification.made'>

/** Returns the subject of a match: the connection or guest, with the name of the speaker. */
function subjectOf({
  kind,
  connection_name: connection,
  display_name: name,
}: Check['matches'][number]) {
  if (kind === 'stamp') return 'a stamp'
  const speaker = inQuotes(name ?? '')
  if (connection === undefined) return `${kind} ${speaker}`
  return connection === name ? speaker : `${inQuotes(connection)} (${speaker})`
}

const isContact = ({ kind }: Check['matches'][number]) => kind === 'connection' || kind === 'guest'

/** Returns how a check of words ended. */
function checked({ method, outcome, matches }: Check): string {
  const subjects = matches.map(subjectOf).join(', ')
  const of = subjects === '' ? '' : `: ${subjects}`
  // Only the account server vouches for what a look-up finds.
  if (method === 'public' && !matches.some(isContact))
    return outcome === 'not_verified' ? 'Look-up found no one' : `Look-up, no proof${of}`
  if (outcome === 'verified') return `Verified${of}`
  if (outcome === 'echo') return 'Not verified: your own words'
  return outcome === 'inconclusive' ? `Inconclusive${of}` : `Not verified${of}`
}

const SUSPENDED = {
  rotation_pending: 'until it has a new secret',
  roster_forked: 'because its history forked',
  ended: 'because an owner ended it',
} as const

type Sentence<T extends EventType> = (data: EventData<T>, names: LogNames) => string

const about =
  (before: string, after = '') =>
  ({ name }: { readonly name: string }): string =>
    `${before} ${inQuotes(name)}${after}`

const aboutGuest =
  (after: string) =>
  ({ label }: { readonly label: string }): string =>
    `Guest ${inQuotes(label)}: code ${after}`

const aboutPerson =
  (before: string) =>
  ({ display_name: name }: { readonly display_name: string }): string =>
    `${before} ${inQuotes(name)}`

const aboutDevice =
  (after: string) =>
  ({ device_id: id }: { readonly device_id: string }, names: LogNames): string =>
    `Device ${calledBy(names, id)} was ${after}`

const aboutRequest =
  (what: string) =>
  ({ request_id: id }: { readonly request_id: string }, names: LogNames): string =>
    `Open link: request of ${calledBy(names, id)} ${what}`

const always = (text: string) => () => text

/** The sentences; null if the event is not part of the history that a person looks for. */
const SENTENCES: { readonly [T in EventType]: Sentence<T> | null } = {
  'connection.added': about('Connection', ' was added'),
  'connection.renamed': ({ previous_name, name }) =>
    `Connection ${inQuotes(previous_name)} is now called ${inQuotes(name)}`,
  'connection.ready': about('Words of', ' can be used'),
  'connection.suspended': ({ name, reason }) =>
    `No words of ${inQuotes(name)} verify, ${SUSPENDED[reason]}`,
  'connection.resumed': about('Words of', ' verify again'),
  'connection.rekeyed': about('Connection', ' has a new secret'),
  'connection.removed': about('Connection', ' was removed'),
  'member.joined': ({ display_name: name, connection_name: connection }) =>
    `${inQuotes(name)} joined ${inQuotes(connection)}`,
  'member.left': ({ display_name: name, connection_name: connection }) =>
    `${inQuotes(name)} is no longer in ${inQuotes(connection)}`,
  'guest_code.created': aboutGuest('created'),
  'guest_code.revoked': aboutGuest('revoked'),
  'guest_code.expired': aboutGuest('expired'),
  'guest_code.deleted': aboutGuest('deleted'),
  'device.added': aboutDevice('added'),
  'device.revoked': aboutDevice('revoked'),
  'device.waiting': about('Device', ' waits for approval'),
  'device.declined': about('Device', ' does not wait for approval any more'),
  'session.started': ({ approved }) =>
    approved ? 'Signed in on this device' : 'Signed in on this device, which awaits approval',
  'session.approved': always('This device was approved'),
  'session.ended': ({ reason }) =>
    reason === 'deleted' ? 'The account was deleted' : 'Signed out on this device',
  'trust.followed': aboutPerson('You follow'),
  'trust.keys_changed': ({ display_name: name, key_status: status }) =>
    status === 'changed_unverified'
      ? `New keys of ${inQuotes(name)}: compare the safety number`
      : `New keys of ${inQuotes(name)}`,
  'trust.confirmed': aboutPerson('You confirmed the keys of'),
  'trust.unfollowed': aboutPerson('You no longer follow'),
  'verification.made': checked,
  'stamp.created': ({ stamp_id: id }) => `Signed a stamp (${id})`,
  'sync.done': null,
  'sync.failed': null,
  'token.created': about('API token', ' was created'),
  'token.revoked': about('API token', ' was revoked'),
  'invitation.received': aboutInvitation('Invited by %'),
  'invitation.sent': aboutInvitation('You invited %'),
  'invitation.approved': aboutInvitation('% approved your invitation', 'You approved %'),
  'invitation.declined': aboutInvitation('% declined your invitation', 'You declined %'),
  'invitation.withdrawn': aboutInvitation(
    'You withdrew the invitation of %',
    '% withdrew the invitation',
  ),
  'invitation.expired': aboutInvitation('Invitation of % expired', 'Invitation by % expired'),
  'first_contact.ended': ({ invitation_id: id, state }, names) =>
    state === 'confirmed'
      ? `Four words confirmed the keys of ${calledBy(names, id)}`
      : `Four words confirmed nothing with ${calledBy(names, id)}`,
  'open_link_request.received': aboutRequest('received'),
  'open_link_request.approved': aboutRequest('approved'),
  'open_link_request.declined': aboutRequest('declined'),
  'notification.created': null,
  'notification.read': null,
  'export.requested': always('Export requested'),
  'export.ready': always('Export ready to download'),
  'export.failed': always('Export failed'),
  'export.expired': always('The file of an export was deleted, because its time was over'),
  'org.joined': about('You joined the organisation'),
  'org.left': about('You are no longer in the organisation'),
  'org.renamed': about('An organisation is now called'),
  'org.role_changed': ({ name, role }) => `Your role in ${inQuotes(name)} is now ${role}`,
  'webhook.given_up': ({ webhook_id: id, name }) =>
    `Webhook ${name === null ? id : inQuotes(name)} was given up`,
}

/** Returns what happened; null if the event is not part of the history. */
export function sentenceOf({ type, data }: LoggedEvent, names: LogNames): string | null {
  const sentence = SENTENCES[type] as ((of: typeof data, names: LogNames) => string) | null
  return sentence === null ? null : sentence(data, names)
}
