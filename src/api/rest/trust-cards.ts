import * as v from 'valibot'
import { Page, Time, email, id, listOf, named, text } from '../fields.ts'
import type { Routes } from '../route.ts'
import { SignedName, namedEntries } from './names.ts'

const Note = v.nullable(text(2000))
const OwnNote = v.pipe(
  Note,
  v.description('Your note on this person, which others do not see; null for none.'),
)
const Count = v.pipe(v.number(), v.integer())

export const TrustCard = named(
  'TrustCard',
  v.object({
    user_id: id('acc_'),
    ...namedEntries,
    own_name: v.pipe(
      v.nullable(v.string()),
      v.description('The name that the person uses now; null if no name is signed.'),
    ),
    name_changed: v.pipe(
      v.boolean(),
      v.description(
        'Whether the person has changed their name since you accepted or confirmed their keys.',
      ),
    ),
    note: Note,
    key_status: v.pipe(
      v.picklist(['unchanged', 'changed_unverified', 'confirmed']),
      v.description(
        'changed_unverified: all devices of the person were replaced without the recovery key of their reviewed keys, or the account server ' +
          'shows an invalid key log (then nothing can be confirmed). Compare the safety number before you confirm. confirmed: confirmed on this device; your other devices decide separately.',
      ),
    ),
    recovered_at: v.pipe(
      v.nullable(Time),
      v.description(
        'When all devices of the person were replaced with the recovery key of their reviewed keys, which needs no confirmation. ' +
          'null if this did not happen, or after you have dismissed or confirmed it.',
      ),
    ),
    recovery_key_unused: v.pipe(
      v.boolean(),
      v.description(
        'Whether all devices of the person were replaced without the recovery key, although a recovery key was active. Ask them, through a channel that you ' +
          'already trust, whether they did this.',
      ),
    ),
    safety_number: v.pipe(
      v.nullable(v.string()),
      v.description(
        '60 digits that are the same on both sides. null if no device of your account answers the request, or if one of the two accounts has no device.',
      ),
    ),
    last_verified_at: v.nullable(Time),
    created_at: Time,
  }),
)
export type TrustCard = v.InferOutput<typeof TrustCard>

export const TrustEvent = named(
  'TrustEvent',
  v.object({
    at: Time,
    event: v.picklist([
      'followed',
      'key_added',
      'key_revoked',
      'keys_changed',
      'keys_recovered',
      'recovery_key_changed',
      'confirmed',
      'verified',
      'note_changed',
    ]),
    detail: v.pipe(v.nullable(v.string()), v.description('For a key: the name of its device.')),
  }),
)
export type TrustEvent = v.InferOutput<typeof TrustEvent>

export const trustCards = {
  list: {
    method: 'GET',
    path: '/api/v1/trust-cards',
    by: 'both',
    copied: true,
    query: Page,
    reply: listOf(TrustCard),
  },
  create: {
    method: 'POST',
    path: '/api/v1/trust-cards',
    by: 'both',
    errors: ['not_found', 'invalid_state'],
    body: v.union(
      [
        v.strictObject({ user_id: id('acc_'), note: v.optional(OwnNote) }),
        v.strictObject({
          email: v.pipe(
            email,
            v.description(
              'An email address that the person has verified. Give this or else user_id.',
            ),
          ),
          note: v.optional(OwnNote),
        }),
      ],
      'Give either "email" or "user_id", optionally a "note", and nothing else.',
    ),
    reply: TrustCard,
    status: 201,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/trust-cards/{id}',
    by: 'both',
    errors: ['no_device'],
    handlerErrors: ['invalid_state'],
    body: v.strictObject({
      note: v.optional(OwnNote),
      name: v.optional(
        v.pipe(
          v.nullable(SignedName),
          v.description(
            'Your name for the person. Only this device stores it, and shows it in all answers. null returns to their own name.',
          ),
        ),
      ),
      confirmed: v.optional(
        v.pipe(
          v.literal(true),
          v.description(
            'true: the safety numbers were compared and are equal. Give safety_number too.',
          ),
        ),
      ),
      safety_number: v.optional(
        v.pipe(
          v.string(),
          v.regex(/^\d{5}( \d{5}){11}$/, 'Expected the sixty digits as shown in the trust card.'),
          v.description(
            'With confirmed: the safety number that was compared. Returns 409 conflict if the keys now have another safety number.',
          ),
        ),
      ),
      recovery_seen: v.optional(
        v.pipe(
          v.literal(true),
          v.description(
            'true: dismiss the notice that all devices were replaced with the recovery key.',
          ),
        ),
      ),
    }),
    reply: TrustCard,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/trust-cards/{id}',
    by: 'both',
    status: 204,
  },
  history: {
    method: 'GET',
    path: '/api/v1/trust-cards/{id}/history',
    by: 'both',
    copied: true,
    query: Page,
    reply: listOf(TrustEvent),
  },
} as const satisfies Routes

export const trust = {
  metrics: {
    method: 'GET',
    path: '/api/v1/trust/metrics',
    by: 'both',
    copied: true,
    reply: named(
      'TrustMetrics',
      v.object({
        following: Count,
        followers: Count,
        confirmed: Count,
        keys_changed_30d: Count,
        verifications_30d: Count,
        inconclusive_30d: Count,
      }),
    ),
  },
} as const satisfies Routes
