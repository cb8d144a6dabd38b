/**
 * The token endpoint, which exchanges a machine account's assertion for a `csm_` token (RFC 6749
 * section 4.4, RFC 7523 section 2.2), and the metadata document for OAuth clients (RFC 8414).
 */
import * as v from 'valibot'
import type { Routes } from '../route.ts'

const Text = v.optional(v.pipe(v.string(), v.maxLength(8192)))

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
    // RFC 6749 section 3.2: unknown parameters are ignored. A missing parameter has an error of
    // its own.
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
  /** Describe the token endpoint. */
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
