import * as v from 'valibot'
import { Time, id, inState, named } from '../fields.ts'
import type { Routes } from '../route.ts'
import { FourWords } from './first-contacts.ts'
import { NameMarks, NameSource } from './names.ts'

/** One party of an invitation: the inviter or the invitee. */
const Party = v.object({
  user_id: v.pipe(
    v.nullable(id('acc_')),
    v.description('null for an invited email address until its owner approves.'),
  ),
  display_name: v.nullable(v.string()),
  name_source: v.pipe(
    v.nullable(NameSource),
    v.description('The source of the name; null if there is no name.'),
  ),
  name_marks: NameMarks,
  email: v.nullable(v.string()),
})
export type Party = v.InferOutput<typeof Party>

const STATES = ['pending', 'approved', 'declined', 'withdrawn', 'expired'] as const

export const Invitation = named(
  'Invitation',
  v.object({
    id: id('inv_'),
    direction: v.picklist(['received', 'sent']),
    connection_id: id('con_'),
    connection_name: v.string(),
    from: Party,
    to: Party,
    state: v.pipe(
      v.picklist(STATES),
      v.description(
        'approved: the device that invited adds the member within seconds if it is connected, or else at its next sync.',
      ),
    ),
    message: v.pipe(v.nullable(v.string()), v.description('The message of the inviter.')),
    expires_at: Time,
    created_at: Time,
  }),
)
export type Invitation = v.InferOutput<typeof Invitation>

const Both = named(
  'Invitations',
  v.object({ received: v.array(Invitation), sent: v.array(Invitation) }),
)

export const invitations = {
  list: {
    method: 'GET',
    path: '/api/v1/invitations',
    by: 'both',
    copied: true,
    query: v.strictObject({ state: inState(STATES) }),
    reply: Both,
  },
  pending: {
    method: 'GET',
    path: '/api/v1/invitations/pending',
    by: 'both',
    copied: true,
    reply: Both,
  },
  approve: {
    method: 'POST',
    path: '/api/v1/invitations/{id}/approve',
    by: 'both',
    errors: ['invalid_state', 'no_device'],
    handlerErrors: ['unknown_word', 'word_count'],
    body: v.optional(v.strictObject({ words: v.optional(FourWords) }), {}),
    reply: Invitation,
    secret: 'words',
  },
  decline: {
    method: 'POST',
    path: '/api/v1/invitations/{id}/decline',
    by: 'both',
    errors: ['invalid_state'],
    reply: Invitation,
  },
  withdraw: {
    method: 'POST',
    path: '/api/v1/invitations/{id}/withdraw',
    by: 'both',
    errors: ['invalid_state'],
    reply: Invitation,
  },
} as const satisfies Routes
