import * as v from 'valibot'
import { Time, email, id } from '../fields.ts'
import { GuestCode, GuestLabel } from '../rest/guest-codes.ts'
import type { Routes } from '../route.ts'

export const deviceGuestCodes = {
  create: {
    method: 'POST',
    path: '/device/v1/guest-codes',
    by: 'account',
    errors: ['not_found', 'conflict'],
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
        v.pipe(email, v.description('By default the address of its external member.')),
      ),
      secret: v.pipe(
        v.string(),
        v.regex(/^[\w-]{43}$/, 'Expected 32 bytes in base64url.'),
        v.description('The fragment of the link. The mail carries it; it is kept nowhere.'),
      ),
    }),
    reply: GuestCode,
    status: 202,
  },
} as const satisfies Routes
