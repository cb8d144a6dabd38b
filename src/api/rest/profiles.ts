import * as v from 'valibot'
import { Jwk, Page, SealKey, SealKeyId, Slug, Time, id, listOf, name, named } from '../fields.ts'
import type { Routes } from '../route.ts'
import { SignedName } from './names.ts'

export const PublicKey = named(
  'PublicKey',
  v.variant('use', [
    v.object({
      id: v.pipe(
        v.string(),
        v.description('The RFC 7638 thumbprint of the key, which is the `kid` of its signatures.'),
      ),
      use: v.literal('sign'),
      jwk: Jwk,
      device_name: v.string(),
      created_at: Time,
    }),
    v.object({
      id: SealKeyId,
      use: v.literal('seal'),
      suite: v.pipe(v.literal(1), v.description('1: X-Wing with HPKE.')),
      key: SealKey,
      device_name: v.string(),
      created_at: Time,
    }),
  ]),
)
export type PublicKey = v.InferOutput<typeof PublicKey>

export const PublicProfile = named(
  'PublicProfile',
  v.object({
    id: id('acc_'),
    display_name: v.string(),
    handle: v.nullable(v.string()),
    headline: v.pipe(
      v.nullable(v.string()),
      v.description('One line that the account wrote about itself. It proves nothing.'),
    ),
    kind: v.picklist(['person', 'machine']),
  }),
)
export type PublicProfile = v.InferOutput<typeof PublicProfile>

const Headline = name(200)

export const Profile = named(
  'Profile',
  v.object({
    display_name: v.string(),
    handle: v.nullable(v.string()),
    headline: v.nullable(v.string()),
    public_code: v.pipe(
      v.nullable(v.object({ words: v.string(), valid_until: Time })),
      v.description(
        'Your public words to say now. null while the public code is off, while this device does not have its secret, or after the clock has moved.',
      ),
    ),
  }),
)
export type Profile = v.InferOutput<typeof Profile>

export const profile = {
  read: {
    method: 'GET',
    path: '/api/v1/profile',
    by: 'both',
    copied: true,
    reply: Profile,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/profile',
    by: 'both',
    errors: ['no_device'],
    body: v.strictObject({
      display_name: v.optional(
        v.pipe(SignedName, v.description('The name that others see. A device of yours signs it.')),
      ),
      handle: v.optional(
        v.pipe(
          v.nullable(Slug),
          v.description(
            'A unique short name: 3 to 40 characters of a-z, 0-9 and -; null for none.',
          ),
        ),
      ),
      headline: v.optional(
        v.pipe(v.nullable(Headline), v.description('One line about you; null for none.')),
      ),
    }),
    reply: Profile,
  },
} as const satisfies Routes

export const profiles = {
  read: {
    method: 'GET',
    path: '/api/v1/profiles/{id}',
    by: 'account',
    copied: true,
    reply: PublicProfile,
  },
  keys: {
    method: 'GET',
    path: '/api/v1/profiles/{id}/keys',
    by: 'both',
    copied: true,
    handlerErrors: ['conflict'],
    query: Page,
    reply: listOf(PublicKey),
  },
} as const satisfies Routes
