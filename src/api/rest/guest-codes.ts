import * as v from 'valibot'
import {
  Page,
  Time,
  email,
  id,
  inState,
  listOf,
  Mailed,
  name,
  named,
  pageOfThose,
  text,
} from '../fields.ts'
import { Reachable } from '../reachable.ts'
import { BACKEND_ERRORS, type Routes } from '../route.ts'

/**
 * The maximum lifetime in seconds: a leap year and a day. A guest code is temporary; use a
 * connection for longer.
 */
const LONGEST_S = 31_708_800

export const GuestLabel = name(200)

/** The name of an external member, in a guest code or in a match of its words. */
export const ExternalMemberName = named(
  'ExternalMemberName',
  v.object({ id: id('ext_'), display_name: v.string() }),
)
export type ExternalMemberName = v.InferOutput<typeof ExternalMemberName>

const STATES = ['active', 'revoked', 'expired'] as const

export const GuestCode = named(
  'GuestCode',
  v.object({
    id: id('gst_'),
    label: v.string(),
    state: v.picklist(STATES),
    expires_at: Time,
    external_member_id: v.nullable(v.string()),
    external_member: v.pipe(
      v.nullable(ExternalMemberName),
      v.description(
        'The external member who gets the guest code; null if there is none or they were deleted.',
      ),
    ),
    last_opened_at: v.pipe(v.nullable(Time), v.description('When the guest last opened the page.')),
    secret_here: v.pipe(v.boolean(), v.description('Whether this device has the secret.')),
    code: v.pipe(
      v.nullable(
        v.object({
          words: v.string(),
          period_s: v.literal(60),
          valid_from: Time,
          valid_until: Time,
        }),
      ),
      v.description('Your own words to say to this guest; null if there are none.'),
    ),
    created_at: Time,
  }),
)
export type GuestCode = v.InferOutput<typeof GuestCode>

export const CreatedGuestCode = named(
  'CreatedGuestCode',
  v.object({
    ...GuestCode.entries,
    url: v.pipe(v.string(), v.description('The link for the guest. It is never shown again.')),
    reachable: Reachable,
  }),
)

/** A guest code of which the link was mailed. */
export const MailedGuestCode = named(
  'MailedGuestCode',
  v.object({ ...GuestCode.entries, mailed: Mailed }),
)
export type MailedGuestCode = v.InferOutput<typeof MailedGuestCode>

export const guestCodes = {
  list: {
    method: 'GET',
    path: '/api/v1/guest-codes',
    by: 'both',
    copied: true,
    query: pageOfThose({ state: inState(STATES) }),
    reply: listOf(GuestCode),
  },
  create: {
    method: 'POST',
    path: '/api/v1/guest-codes',
    by: 'daemon',
    errors: ['not_found', 'no_device', ...BACKEND_ERRORS],
    body: v.strictObject({
      label: v.pipe(GuestLabel, v.description('The name of the guest in your list.')),
      expires_in: v.optional(
        v.pipe(
          v.number(),
          v.integer(),
          v.minValue(60),
          v.maxValue(LONGEST_S),
          v.description('The lifetime in seconds (default: one week).'),
        ),
        604_800,
      ),
      external_member_id: v.optional(
        v.pipe(
          v.nullable(id('ext_')),
          v.description(
            'The external member who gets the guest code. The guest code is revoked if they are deleted.',
          ),
        ),
      ),
    }),
    reply: CreatedGuestCode,
    status: 201,
    repeats: true,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/guest-codes/{id}',
    by: 'both',
    status: 204,
  },
  qr: {
    method: 'GET',
    path: '/api/v1/guest-codes/{id}/qr',
    by: 'daemon',
    errors: ['invalid_state', 'no_device', 'not_signed_in', 'secret_unavailable'],
    query: v.strictObject({
      format: v.optional(
        v.pipe(
          v.picklist(['svg', 'gif', 'text']),
          v.description(
            'The image format (default: svg). text: half blocks for a terminal, in which a block is light, so show them bright on dark.',
          ),
        ),
      ),
    }),
    media: ['image/svg+xml', 'image/gif', 'text/plain; charset=utf-8'],
  },
  send: {
    method: 'POST',
    path: '/api/v1/guest-codes/{id}/send',
    by: 'daemon',
    errors: ['invalid_state', 'no_device', 'secret_unavailable', 'rate_limited', ...BACKEND_ERRORS],
    body: v.optional(
      v.strictObject({
        channel: v.optional(
          v.pipe(
            v.picklist(['email']),
            v.description('How the link is sent. Email is the only way.'),
          ),
          'email',
        ),
        to: v.optional(
          v.pipe(
            email,
            v.description('The address to mail to. Default: the address of the external member.'),
          ),
        ),
      }),
      {},
    ),
    reply: MailedGuestCode,
    status: 202,
  },
} as const satisfies Routes

const Phone = v.pipe(
  v.string(),
  v.regex(
    /^\+?[0-9][0-9 ()./-]{2,30}$/,
    'Expected a telephone number, for example +41 44 668 18 00.',
  ),
)

export const ExternalMember = named(
  'ExternalMember',
  v.object({
    id: id('ext_'),
    display_name: v.pipe(
      v.string(),
      v.description(
        'The name of the external member. The page of an active guest code for this person shows it.',
      ),
    ),
    email: v.nullable(v.string()),
    phone: v.nullable(v.string()),
    note: v.nullable(v.string()),
    created_at: Time,
  }),
)
export type ExternalMember = v.InferOutput<typeof ExternalMember>

export const externalMembers = {
  list: {
    method: 'GET',
    path: '/api/v1/external-members',
    by: 'account',
    copied: true,
    query: Page,
    reply: listOf(ExternalMember),
  },
  create: {
    method: 'POST',
    path: '/api/v1/external-members',
    by: 'account',
    body: v.strictObject({
      display_name: v.pipe(
        name(100),
        v.description('The name of the person. The guest sees it on the page of their guest code.'),
      ),
      email: v.optional(
        v.pipe(
          v.nullable(email),
          v.description('The address to which guest codes for this person are mailed.'),
        ),
      ),
      phone: v.optional(
        v.pipe(
          v.nullable(Phone),
          v.description(
            'A telephone number, such as +41 44 668 18 00. "countersignd call" shows it when you call a guest of theirs. Nothing is sent to it.',
          ),
        ),
      ),
      note: v.optional(
        v.pipe(
          v.nullable(text(2000)),
          v.description('Your note on this person. Others do not see it.'),
        ),
      ),
    }),
    reply: ExternalMember,
    status: 201,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/external-members/{id}',
    by: 'both',
    status: 204,
  },
} as const satisfies Routes
