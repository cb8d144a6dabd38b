import * as v from 'valibot'
import { Page, ScopeName, Time, id, listOf, name, named } from '../fields.ts'
import type { Routes } from '../route.ts'

/** The maximum lifetime in seconds: ten years. A longer one is probably a mistake in the unit. */
const LONGEST_S = 315_360_000

export const NewToken = named(
  'NewToken',
  v.strictObject({
    name: v.pipe(name(100), v.description('What the token is for. The list shows this name.')),
    scope: ScopeName,
    label: v.optional(
      v.pipe(v.nullable(name(100)), v.description('A second name, for programs that sort tokens.')),
    ),
    expires_in: v.optional(
      v.nullable(
        v.pipe(
          v.number(),
          v.integer(),
          v.minValue(1),
          v.maxValue(LONGEST_S),
          v.description(
            'The lifetime in seconds. If left out, the token is valid until it is revoked.',
          ),
        ),
      ),
    ),
  }),
)

const fields = {
  id: id('tok_'),
  name: v.string(),
  label: v.nullable(v.string()),
  scope: ScopeName,
  created_at: Time,
  expires_at: v.nullable(Time),
}

/** The answer that contains the new token. No other answer contains it. */
export const MintedToken = named(
  'MintedToken',
  v.object({
    ...fields,
    token: v.pipe(v.string(), v.description('The bearer token. It is never shown again.')),
  }),
)

const listed = {
  ...fields,
  state: v.picklist(['active', 'revoked', 'expired']),
  last_used_at: v.nullable(Time),
}

/** A machine account's token. No such token is bound to a key. */
export const MachineToken = named('MachineToken', v.object(listed))
export type MachineToken = v.InferOutput<typeof MachineToken>

export const ApiToken = named(
  'ApiToken',
  v.object({
    ...listed,
    bound: v.pipe(
      v.boolean(),
      v.description(
        'Whether the token is accepted only with proofs of a key (RFC 9449), as that of a console in a browser.',
      ),
    ),
  }),
)
export type ApiToken = v.InferOutput<typeof ApiToken>

export const token = {
  create: {
    method: 'POST',
    path: '/api/v1/token',
    by: 'daemon',
    errors: ['no_device'],
    body: NewToken,
    reply: MintedToken,
    status: 201,
    repeats: true,
  },
} as const satisfies Routes

export const apiTokens = {
  list: {
    method: 'GET',
    path: '/api/v1/api-tokens',
    by: 'daemon',
    query: Page,
    reply: listOf(ApiToken),
  },
  create: {
    method: 'POST',
    path: '/api/v1/api-tokens',
    by: 'daemon',
    body: NewToken,
    reply: MintedToken,
    status: 201,
    repeats: true,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/api-tokens/{id}',
    by: 'daemon',
    status: 204,
  },
} as const satisfies Routes
