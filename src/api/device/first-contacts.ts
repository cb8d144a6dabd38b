/**
 * First contact by four words (protocol, section 3a).
 *
 * The account server relays three messages between the device that created the words and the device
 * that the words were typed on.
 */
import * as v from 'valibot'
import { Time, id } from '../fields.ts'
import type { Routes } from '../route.ts'

const SessionId = v.pipe(
  v.string(),
  v.regex(/^[\w-]{22}$/, 'Expected 16 bytes in base64url.'),
  v.description(
    'The session id of this first contact: 16 random bytes from the inviting device, in base64url.',
  ),
)

const Message = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(1024),
  v.description('A message from one device to the other. The server does not read it.'),
)

const Run = v.object({
  invitation: id('inv_'),
  sid: SessionId,
  connection: id('con_'),
  inviter: id('acc_'),
  invitee: v.pipe(
    v.nullable(id('acc_')),
    v.description('The account of the device that began; null until a device has begun.'),
  ),
  expires_at: Time,
  messages: v.pipe(v.array(Message), v.description('The messages sent so far, in order.')),
})
export type Run = v.InferOutput<typeof Run>

export const deviceFirstContacts = {
  open: {
    method: 'POST',
    path: '/device/v1/first-contacts',
    by: 'account',
    errors: ['not_found', 'invalid_state'],
    body: v.strictObject({ invitation: id('inv_'), sid: SessionId }),
    reply: v.object({ expires_at: Time }),
    status: 201,
  },
  list: {
    method: 'GET',
    path: '/device/v1/first-contacts',
    by: 'account',
    reply: v.object({ items: v.array(Run) }),
  },
  read: {
    method: 'GET',
    path: '/device/v1/first-contacts/{invitation}',
    by: 'account',
    errors: ['invalid_state'],
    reply: Run,
  },
  send: {
    method: 'POST',
    path: '/device/v1/first-contacts/{invitation}/messages',
    by: 'account',
    errors: ['invalid_state'],
    body: v.strictObject({
      sid: SessionId,
      place: v.pipe(
        v.picklist([0, 1, 2]),
        v.description('The number of the message. The invitee sends 0 and 2, the inviter sends 1.'),
      ),
      message: Message,
    }),
    status: 204,
  },
  end: {
    method: 'DELETE',
    path: '/device/v1/first-contacts/{invitation}',
    by: 'account',
    status: 204,
  },
} as const satisfies Routes
