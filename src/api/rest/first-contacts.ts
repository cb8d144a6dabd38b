/** First contact by four words (protocol, section 3a), as seen by this device. */
import * as v from 'valibot'
import { Time, id, named } from '../fields.ts'
import { BACKEND_ERRORS, type Routes } from '../route.ts'
import { PersonName } from './names.ts'

/** The validity of four words, in milliseconds. */
export const WORDS_MS = 15 * 60_000

/** The maximum number of open first contacts of one account. */
export const MOST_OPEN = 20

export const FourWords = v.pipe(
  v.string(),
  v.maxLength(200),
  v.description('The four words of the inviter. Spaces and case do not matter.'),
)

/** The four words for one invitation. They are shown only once. */
export const ContactWords = named(
  'ContactWords',
  v.object({
    invitation_id: id('inv_'),
    to: v.pipe(
      v.string(),
      v.description('The invited person: an email address, or the id of an account.'),
    ),
    words: v.pipe(
      v.string(),
      v.description(
        'Four words to say in person or on a call that you placed. They are never shown again.',
      ),
    ),
    expires_at: Time,
  }),
)
export type ContactWords = v.InferOutput<typeof ContactWords>

export const CONTACT_REASONS = [
  'wrong_words',
  'words_expired',
  'ad_mismatch',
  'message_refused',
] as const
export type ContactReason = (typeof CONTACT_REASONS)[number]

export const FirstContact = named(
  'FirstContact',
  v.object({
    invitation_id: id('inv_'),
    connection_id: id('con_'),
    role: v.pipe(
      v.picklist(['inviter', 'invitee']),
      v.description(
        'inviter: this device created the words. invitee: the words were typed on this device.',
      ),
    ),
    with: v.pipe(
      v.string(),
      v.description('The other side: the id of an account, or an email address.'),
    ),
    name: v.pipe(
      v.nullable(PersonName),
      v.description(
        'The name of the other side, if its account is known; null for an email address.',
      ),
    ),
    state: v.pipe(
      v.picklist(['open', 'confirmed', 'failed']),
      v.description('confirmed: the trust card of the other side is confirmed on this device.'),
    ),
    reason: v.pipe(
      v.nullable(v.picklist(CONTACT_REASONS)),
      v.description(
        'The reason for a failure. ad_mismatch: one side names other keys or another roster than the other ' +
          'side verified.',
      ),
    ),
    message: v.pipe(
      v.nullable(v.string()),
      v.description(
        'A text for people: what happened and what to do. null while the first contact is open.',
      ),
    ),
    started_at: Time,
    expires_at: Time,
  }),
)
export type FirstContact = v.InferOutput<typeof FirstContact>

export const firstContacts = {
  list: {
    method: 'GET',
    path: '/api/v1/first-contacts',
    by: 'daemon',
    errors: ['no_device', 'not_signed_in'],
    reply: v.object({ items: v.array(FirstContact) }),
  },
} as const satisfies Routes

export const contactWords = {
  create: {
    method: 'POST',
    path: '/api/v1/invitations/{id}/words',
    by: 'daemon',
    errors: ['invalid_state', 'no_device', ...BACKEND_ERRORS],
    reply: ContactWords,
    status: 201,
    repeats: true,
  },
} as const satisfies Routes
