/**
 * The catalogue of events: what each type means, and what an event of it contains.
 *
 * An event names a resource by its id and its name. It never contains words, secrets, tokens, or
 * other texts that people wrote. A program that needs more reads the resource.
 */
import * as v from 'valibot'
import { Time, id, named } from '../fields.ts'
import { Suspension } from '../rest/connections.ts'
import { SyncReport } from '../rest/sync.ts'
import { LoggedMatch, VerificationEntry } from '../rest/verify.ts'

/** The data of an event, and what the type means, as a sentence for the documents. */
const of = <const Entries extends v.ObjectEntries>(text: string, entries: Entries) => ({
  text,
  data: v.object(entries),
})

const connection = { connection_id: id('con_'), name: v.string() }
const member = {
  connection_id: id('con_'),
  connection_name: v.string(),
  user_id: id('acc_'),
  display_name: v.pipe(v.string(), v.description('The name that this device shows.')),
}
const guestCode = { guest_code_id: id('gst_'), label: v.string() }
const device = { device_id: id('dev_') }
const waitingDevice = {
  ...device,
  name: v.pipe(v.string(), v.description('The name that the device gave itself.')),
}
const session = { account_id: id('acc_'), device_id: id('dev_') }
const card = { user_id: id('acc_'), display_name: v.string() }
const invitation = {
  invitation_id: id('inv_'),
  connection_id: id('con_'),
  direction: v.picklist(['received', 'sent']),
}
const request = { request_id: id('req_'), open_link_id: id('lnk_') }
const notification = { notification_id: id('ntf_'), kind: v.string() }
const built = { export_id: id('exp_') }
const organisation = { organisation_id: id('org_'), name: v.string() }
const token = { token_id: id('tok_'), name: v.string() }
const { kind, speaker, connection_id, connection_name, guest_code_id, member_id, user_id } =
  LoggedMatch.entries
const { trigger, pulled, pushed } = SyncReport.entries

export const EVENTS = {
  'connection.added': of('A connection was created here, or a sync found a new one.', connection),
  'connection.renamed': of('A connection has another name.', {
    ...connection,
    previous_name: v.string(),
  }),
  'connection.ready': of(
    'The words of a connection can be shown and checked on this device from now on: its secret arrived, or it is not suspended any more.',
    connection,
  ),
  'connection.suspended': of('No words of a connection verify from now on.', {
    ...connection,
    reason: v.pipe(
      Suspension,
      v.description(
        'rotation_pending: until the connection has a new secret. roster_forked: the account server showed two histories. ended: an owner ended the connection.',
      ),
    ),
  }),
  'connection.resumed': of('A connection is not suspended any more.', connection),
  'connection.rekeyed': of('A connection has a new secret, which began another epoch.', {
    ...connection,
    epoch: v.pipe(v.number(), v.integer()),
  }),
  'connection.removed': of(
    'A connection was deleted from this device: this account left it or was removed, or it ended.',
    connection,
  ),
  'member.joined': of('An account became a member of a connection.', member),
  'member.left': of(
    'An account is not a member of a connection any more: it left, was removed, or was deleted.',
    member,
  ),
  'guest_code.created': of('A guest code was created.', guestCode),
  'guest_code.revoked': of('A guest code was revoked.', guestCode),
  'guest_code.expired': of('A guest code expired.', guestCode),
  'guest_code.deleted': of(
    'A guest code was deleted from this device, because the account server does not list it any more.',
    guestCode,
  ),
  'device.added': of('The key log of this account has a new device.', device),
  'device.revoked': of('A device of this account was revoked.', device),
  'device.waiting': of(
    'A new device of this account waits for the approval of another one.',
    waitingDevice,
  ),
  'device.declined': of(
    'A device that waited for approval was declined, or has waited too long.',
    waitingDevice,
  ),
  'session.started': of('An account signed in on this device.', {
    ...session,
    approved: v.pipe(
      v.boolean(),
      v.description('false if the device waits for the approval of another device.'),
    ),
  }),
  'session.approved': of(
    'Another device of the account approved this device, which waited for that.',
    session,
  ),
  'session.ended': of(
    'The account was signed out on this device, or deleted. Earlier events are deleted.',
    { reason: v.picklist(['signed_out', 'deleted']) },
  ),
  'trust.followed': of('This device follows the keys of an account.', card),
  'trust.keys_changed': of('A followed account has other keys.', {
    ...card,
    key_status: v.pipe(
      v.picklist(['changed_unverified', 'confirmed', 'unchanged']),
      v.description(
        'changed_unverified: compare the safety number. Otherwise the recovery key of the account proves that the keys are its own.',
      ),
    ),
  }),
  'trust.confirmed': of('The user confirmed the keys of an account.', card),
  'trust.unfollowed': of('This device does not follow the keys of an account any more.', card),
  'verification.made': of('Words were checked on this device.', {
    verification_id: id('ver_'),
    outcome: VerificationEntry.entries.outcome,
    method: VerificationEntry.entries.method,
    caller: VerificationEntry.entries.caller,
    matches: v.array(
      v.object({
        kind,
        speaker,
        connection_id,
        connection_name,
        guest_code_id,
        member_id,
        user_id,
        display_name: LoggedMatch.entries.display_name,
      }),
    ),
  }),
  'stamp.created': of('A stamp was signed.', {
    stamp_id: id('stm_'),
    registered: v.pipe(
      v.boolean(),
      v.description('false if the account server did not answer. A sync then registers the stamp.'),
    ),
  }),
  'sync.done': of(
    'A sync succeeded that was requested, that changed something, or that followed a failed one.',
    { trigger, pulled, pushed },
  ),
  'sync.failed': of('A sync failed that was requested, or that followed a successful one.', {
    trigger,
    code: v.pipe(
      v.nullable(v.string()),
      v.description(
        'The error code that ended the sync; null if only parts of it failed. `GET /api/v1/sync` has the reason.',
      ),
    ),
  }),
  'token.created': of('An API token of this daemon was created.', token),
  'token.revoked': of('An API token of this daemon was revoked.', token),
  'invitation.received': of('Another account invited this account.', invitation),
  'invitation.sent': of('This account invited another account or a mailbox.', invitation),
  'invitation.approved': of('The invited person approved.', invitation),
  'invitation.declined': of('The invited person declined.', invitation),
  'invitation.withdrawn': of('The inviter withdrew the invitation.', invitation),
  'invitation.expired': of('The invitation ended without an answer.', invitation),
  'first_contact.ended': of('A first contact by four words ended.', {
    invitation_id: invitation.invitation_id,
    connection_id: invitation.connection_id,
    state: v.pipe(
      v.picklist(['confirmed', 'failed']),
      v.description(
        'confirmed: each side has confirmed the keys of the other side. `GET /api/v1/first-contacts` has the reason of a failure.',
      ),
    ),
  }),
  'open_link_request.received': of('A person asked to connect, on an open link.', request),
  'open_link_request.approved': of('A request at an open link was approved.', request),
  'open_link_request.declined': of('A request at an open link was declined.', request),
  'notification.created': of('There is a new notification.', notification),
  'notification.read': of('A notification was marked as read.', notification),
  'export.requested': of('An export was requested.', built),
  'export.ready': of('An export can be downloaded.', built),
  'export.failed': of('An export could not be built.', built),
  'export.expired': of('The file of an export was deleted, because its time was over.', built),
  'org.joined': of('This account is in an organisation.', organisation),
  'org.left': of('This account is no longer in an organisation.', organisation),
  'org.renamed': of('An organisation has another name.', organisation),
  'org.role_changed': of('This account has another role in an organisation.', {
    ...organisation,
    role: v.picklist(['owner', 'admin', 'member']),
  }),
  'webhook.given_up': of('A webhook was given up. Nothing is sent to it until it is enabled.', {
    webhook_id: id('whk_'),
    name: v.nullable(v.string()),
  }),
} as const

export type EventType = keyof typeof EVENTS
export type EventData<T extends EventType> = v.InferOutput<(typeof EVENTS)[T]['data']>

/** All types of the catalogue, in its order. */
export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[]

/** The events that are not in the catalogue, because they describe the stream itself. */
export const STREAM_EVENT = { gap: 'gap', overflow: 'overflow' } as const

const eventId = id('evt_')

/** An event of any type of the catalogue. */
export const Event = named(
  'Event',
  v.union(
    EVENT_TYPES.map((type) =>
      v.object({
        id: eventId,
        type: v.pipe(v.literal(type), v.description(EVENTS[type].text)),
        timestamp: Time,
        data: EVENTS[type].data,
      }),
    ),
  ),
)

/** Marks where events are missing. */
export const Gap = named(
  'Gap',
  v.pipe(
    v.object({
      type: v.literal(STREAM_EVENT.gap),
      timestamp: Time,
      data: v.object({
        oldest: v.pipe(
          v.nullable(eventId),
          v.description('The oldest event that is still stored; null if there is none.'),
        ),
      }),
    }),
    v.description(
      'Events before the following ones are missing: they are no longer stored, or `since` is not an event of this daemon. Read the resources again.',
    ),
  ),
)
