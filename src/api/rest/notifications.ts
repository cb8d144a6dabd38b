import * as v from 'valibot'
import { Time, id, listOf, named, pageOfThose } from '../fields.ts'
import type { Routes } from '../route.ts'

/** The subjects of notifications. */
export const NotificationKind = v.picklist([
  'invitation_received',
  'invitation_approved',
  'invitation_declined',
  'invitation_withdrawn',
  'invitation_expired',
  'member_joined',
  'member_left',
  'connection_ended',
  'removed_from_connection',
  'open_link_request',
  'guest_code_opened',
  'guest_code_ending',
  'keys_changed',
  'device_added',
  'device_revoked',
  'recovery_key_changed',
  'account_reset',
  'email_added',
  'export_ready',
  'export_failed',
  'webhook_given_up',
  'org_invited',
  'org_alert',
  'org_activated',
  'org_suspended',
  'org_role_changed',
])
export type NotificationKind = v.InferOutput<typeof NotificationKind>

export const Notification = named(
  'Notification',
  v.object({
    id: id('ntf_'),
    kind: v.pipe(
      v.string(),
      v.description(
        `The kind of event: ${NotificationKind.options.join(', ')}. Newer versions may add kinds.`,
      ),
    ),
    title: v.string(),
    body: v.string(),
    data: v.pipe(
      v.record(v.string(), v.string()),
      v.description(
        'The ids of the objects that the notification is about, such as `connection_id`.',
      ),
    ),
    read: v.boolean(),
    created_at: Time,
  }),
)
export type Notification = v.InferOutput<typeof Notification>

const Ids = v.pipe(v.array(id('ntf_')), v.maxLength(200, 'Give at most 200 ids.'))
const Count = v.pipe(v.number(), v.integer())

export const notifications = {
  list: {
    method: 'GET',
    path: '/api/v1/notifications',
    by: 'account',
    copied: true,
    query: pageOfThose({
      unread: v.optional(
        v.pipe(
          v.boolean(),
          v.description(
            'true: return only unread notifications. false: return only notifications marked as read.',
          ),
        ),
      ),
    }),
    reply: listOf(Notification),
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/notifications',
    by: 'account',
    query: v.strictObject({
      id: v.optional(
        v.pipe(
          Ids,
          v.description(
            'The notifications to delete; may be repeated. If left out, all are deleted.',
          ),
        ),
      ),
    }),
    reply: v.object({ deleted: Count }),
  },
  read: {
    method: 'POST',
    path: '/api/v1/notifications/read',
    by: 'account',
    body: v.optional(
      v.strictObject({
        ids: v.optional(
          v.pipe(Ids, v.description('The notifications to mark. If left out, all are marked.')),
        ),
      }),
      {},
    ),
    reply: v.object({ read: Count }),
  },
} as const satisfies Routes
