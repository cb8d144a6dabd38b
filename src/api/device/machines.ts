/**
 * The machine accounts of organisations, and their tokens.
 *
 * A machine account proves that it has its key, as a user proves access to a mailbox. The account
 * server creates and validates the `csm_` tokens of machine accounts.
 */
import * as v from 'valibot'
import { holderId, id, Jwk, listOf, name, Page, ScopeName, Time } from '../fields.ts'
import { MachineToken, MintedToken, NewToken } from '../rest/api-tokens.ts'
import type { Routes } from '../route.ts'

export const Machine = v.object({
  machine_id: id('mch_'),
  organisation_id: id('org_'),
  name: v.string(),
  token_endpoint: v.pipe(
    v.string(),
    v.description('The address at which the machine gets tokens with its key (RFC 6749).'),
  ),
})

/**
 * The public key of a machine account.
 *
 * The schema is strict, so that a private key sent by mistake is rejected instead of being silently
 * reduced to its public part.
 */
export const MachinePublicKey = v.pipe(
  v.strictObject(Jwk.entries),
  v.description('The Ed25519 key that verifies the assertions of the machine.'),
)

export const machines = {
  create: {
    method: 'POST',
    path: '/device/v1/machines',
    by: 'account',
    errors: ['not_found', 'no_active_organisation'],
    body: v.strictObject({
      organisation_id: id('org_'),
      name: name(100),
      key: MachinePublicKey,
    }),
    reply: Machine,
    status: 201,
  },
} as const satisfies Routes

/** The tokens of the calling machine account. */
export const machineTokens = {
  list: {
    method: 'GET',
    path: '/device/v1/machine-tokens',
    by: 'account',
    errors: ['forbidden'],
    query: Page,
    reply: listOf(MachineToken),
  },
  create: {
    method: 'POST',
    path: '/device/v1/machine-tokens',
    by: 'account',
    errors: ['forbidden'],
    body: NewToken,
    reply: MintedToken,
    status: 201,
    repeats: true,
  },
  delete: {
    method: 'DELETE',
    path: '/device/v1/machine-tokens/{id}',
    by: 'account',
    errors: ['forbidden'],
    status: 204,
  },
} as const satisfies Routes

export const bearer = {
  read: {
    method: 'GET',
    path: '/device/v1/token',
    by: 'account',
    errors: ['forbidden'],
    reply: v.object({
      account_id: holderId,
      token_id: id('tok_'),
      scope: ScopeName,
      expires_at: v.nullable(Time),
    }),
  },
} as const satisfies Routes

const Text = v.optional(v.pipe(v.string(), v.maxLength(8192)))

/**
 * The token endpoint, and the metadata document for OAuth clients (RFC 8414).
 *
 * The endpoint exchanges a machine account's assertion for a `csm_` token (RFC 6749 section 4.4,
 * RFC 7523 section 2.2).
 */
export const oauth = {
  /** Get a token for a machine account by its assertion. */
  token: {
    method: 'POST',
    path: '/oauth/token',
    by: 'account',
    errors: [
      'invalid_request',
      'invalid_scope',
      'unsupported_grant_type',
      'invalid_client',
      'rate_limited',
    ],
    form: true,
    limit: 65_536,
    // RFC 6749 section 3.2: unknown parameters are ignored. A missing parameter has its own error
    // code, so every parameter is optional here.
    body: v.object({
      grant_type: Text,
      client_assertion_type: Text,
      client_assertion: Text,
      client_id: Text,
      scope: Text,
    }),
    reply: v.object({
      access_token: v.string(),
      token_type: v.literal('Bearer'),
      expires_in: v.pipe(v.number(), v.integer()),
      scope: v.string(),
    }),
    repeats: true,
  },
  /** Get the metadata of the token endpoint. */
  metadata: {
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    by: 'account',
    reply: v.object({
      issuer: v.string(),
      token_endpoint: v.string(),
      grant_types_supported: v.array(v.string()),
      response_types_supported: v.array(v.string()),
      scopes_supported: v.array(v.string()),
      token_endpoint_auth_methods_supported: v.array(v.string()),
      token_endpoint_auth_signing_alg_values_supported: v.array(v.string()),
    }),
  },
} as const satisfies Routes
