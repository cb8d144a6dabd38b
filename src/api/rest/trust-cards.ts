import * as v from 'valibot'
import { Page, Time, email, id, listOf, named, text } from '../fields.ts'
import type { Routes } from '../route.ts'
import { SignedName, namedEntries } from './names.ts'

const Note = v.nullable(text(2000))
const OwnNote = v.pipe(
  Note,
  v.description('Your note on them; others do not see it. null for none.'),
)
const Count = v.pipe(v.number(), v.integer())

export const TrustCard = named(
  'TrustCard',
  v.object({
    user_id: id('acc_'),
    ...namedEntries,
    own_name: v.pipe(
      v.nullable(v.string()),
      v.description('The name that they give themselves by now; null where none is signed.'),
    ),
    name_changed: v.pipe(
      v.boolean(),
      v.description('Whether they go by another name than when you confirmed or accepted them.'),
    ),
    note: Note,
    key_status: v.pipe(
      v.picklist(['unchanged', 'changed_unverified', 'confirmed']),
      v.description(
        'changed_unverified: all their devices were replaced without the recovery key of the keys that you know, or the account server ' +
          'shows a key log that does not hold (nothing can be confirmed then). Compare the safety number before you confirm. confirmed: on this device; another of the account judges for itself.',
      ),
    ),
    recovered_at: v.pipe(
      v.nullable(Time),
      v.description(
        'When all their devices were replaced with the recovery key of the keys that you know, which needs no confirmation; ' +
          'null where they were not, and once you have dismissed or confirmed it.',
      ),
    ),
    recovery_key_unused: v.pipe(
      v.boolean(),
      v.description(
        'Whether all their devices were replaced without the recovery key, although one was in force: ask them, by a way that you ' +
          'know, whether it was they.',
      ),
    ),
    safety_number: v.pipe(
      v.nullable(v.string()),
      v.description(
        'Sixty digits that are the same on both sides. null where no device of the own account answers, or one of the two has none.',
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
    detail: v.pipe(v.nullable(v.string()), v.description('Of a key: the name of its device.')),
  }),
)
export type TrustEvent = v.InferOutput<typeof TrustEvent>

export const trustCards = {
  list: {
    method: 'GET',
    path: '/api/v1/trust-cards',
    by: 'both',
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
          email: v.pipe(email, v.description('A mailbox that they have proven; or else user_id.')),
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
            'What you call them: it leads in all answers of this device, which alone keeps it. null: their own name again.',
          ),
        ),
      ),
      confirmed: v.optional(
        v.pipe(
          v.literal(true),
          v.description('The safety numbers were compared and are equal. Give safety_number too.'),
        ),
      ),
      safety_number: v.optional(
        v.pipe(
          v.string(),
          v.regex(/^\d{5}( \d{5}){11}$/, 'Expected the sixty digits as shown in the trust card.'),
          v.description(
            'With confirmed: the number that was compared. 409 conflict where the keys have another one by now.',
          ),
        ),
      ),
      recovery_seen: v.optional(
        v.pipe(
          v.literal(true),
          v.description('You saw that all devices were replaced with the recovery key.'),
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
    query: Page,
    reply: listOf(TrustEvent),
  },
} as const satisfies Routes

export const trust = {
  metrics: {
    method: 'GET',
    path: '/api/v1/trust/metrics',
    by: 'both',
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
