/** Guest codes, for which a device creates the secret, and the public code. */
import * as v from 'valibot'
import { email, id, Time } from '../fields.ts'
import { GuestCode, GuestLabel, MailedGuestCode } from '../rest/guest-codes.ts'
import { PublicProfile } from '../rest/profiles.ts'
import { StampAssurance, StampFound } from '../rest/verify.ts'
import type { Routes } from '../route.ts'

export const deviceGuestCodes = {
  create: {
    method: 'POST',
    path: '/device/v1/guest-codes',
    by: 'account',
    errors: ['not_found'],
    body: v.strictObject({
      id: id('gst_'),
      label: GuestLabel,
      expires_at: Time,
      external_member_id: v.optional(v.nullable(id('ext_')), null),
    }),
    reply: GuestCode,
    status: 201,
  },
  send: {
    method: 'POST',
    path: '/device/v1/guest-codes/{id}/mail',
    by: 'account',
    errors: ['invalid_state'],
    body: v.strictObject({
      to: v.optional(
        v.pipe(
          email,
          v.description('The address to mail to. Default: the address of the external member.'),
        ),
      ),
      secret: v.pipe(
        v.string(),
        v.regex(/^[\w-]{43}$/, 'Expected 32 bytes in base64url.'),
        v.description(
          'The fragment of the link. The server puts it in the mail and does not store it.',
        ),
      ),
    }),
    reply: MailedGuestCode,
    status: 202,
  },
} as const satisfies Routes

/**
 * The public code (protocol, section 6).
 *
 * The device creates the code's secret and shares it with the account server. The server finds
 * accounts by their words, and stamps by theirs.
 */
export const publicCode = {
  create: {
    method: 'POST',
    path: '/device/v1/public-code',
    by: 'account',
    repeats: true,
    body: v.strictObject({
      k: v.pipe(
        v.string(),
        v.regex(/^[\w-]{43}$/),
        v.description('The secret: 32 bytes in base64url.'),
      ),
    }),
    status: 204,
  },
  read: {
    method: 'GET',
    path: '/device/v1/public-code',
    by: 'account',
    errors: ['not_found'],
    reply: v.object({ k: v.nullable(v.string()) }),
  },
} as const satisfies Routes

export const lookups = {
  create: {
    method: 'POST',
    path: '/device/v1/lookups',
    by: 'account',
    repeats: true,
    body: v.strictObject({
      words: v.pipe(
        v.array(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(4095))),
        v.length(3),
        v.description('The indices of the three words in the word list.'),
      ),
    }),
    reply: v.object({
      accounts: v.array(
        v.object({
          profile: PublicProfile,
          window: v.pipe(v.number(), v.integer()),
        }),
      ),
      echo: v.pipe(
        v.boolean(),
        v.description(
          'Whether the words are those of the caller’s own public code, which is not listed in `accounts`.',
        ),
      ),
      stamps: v.array(
        v.object({ id: id('stm_'), stamp: StampFound, assurance: v.optional(StampAssurance) }),
      ),
    }),
  },
} as const satisfies Routes
