import * as v from 'valibot'
import { Time, email, id } from '../fields.ts'
import { GuestCode, GuestLabel } from '../rest/guest-codes.ts'
import type { Routes } from '../route.ts'

export const deviceGuestCodes = {
  create: {
    method: 'POST',
    path: '/device/v1/guest-codes',
    summary: 'Register a guest code with a secret that a device made',
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
    summary:
      'Mail the link of a guest code: the one case in which its secret passes through the server',
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
