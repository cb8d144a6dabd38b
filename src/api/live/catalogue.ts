/**
 * The catalogue of events: what each type means, and what an event of it contains.
 *
 * An event names a resource by its id and its name. It never contains words, secrets, tokens, or
 * other texts that people wrote. A program that needs more reads the resource.
 */
import * as v from 'valibot'
import { Time, id, named } from '../fields.ts'

/** The data of an event, and what the type means, as a sentence for the documents. */
const of = <const Entries extends v.ObjectEntries>(text: string, entries: Entries) => ({
  text,
  data: v.object(entries),
})

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

export const EVENTS = {
  'token.created': of('An API token of this daemon was created.', token),
  'token.revoked': of('An API token of this daemon was revoked.', token),
  'invitation.received': of('Another account invited this account.', invitation),
  'invitation.sent': of('This account invited another account or a mailbox.', invitation),
  'invitation.approved': of('The invited person approved.', invitation),
  'invitation.declined': of('The invited person declined.', invitation),
  'invitation.withdrawn': of('The inviter withdrew the invitation.', invitation),
  'invitation.expired': of('The invitation ended without an answer.', invitation),
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
