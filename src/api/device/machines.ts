/**
 * Machine accounts of organisations, and their tokens. A machine account proves its key where a
 * user proves a mailbox. The account server creates and validates its `csm_` tokens.
 */
import * as v from 'valibot'
import { Jwk, Page, ScopeName, Time, holderId, id, listOf, name } from '../fields.ts'
import { ApiToken, MintedToken, NewToken } from '../rest/api-tokens.ts'
import type { Routes } from '../route.ts'

export const Machine = v.object({
  machine_id: id('mch_'),
  organisation_id: id('org_'),
  name: v.string(),
  token_endpoint: v.pipe(v.string(), v.description('Where its key gets tokens (RFC 6749).')),
})

/**
 * Strict, so that a private key sent by mistake is rejected and not silently reduced to its
 * public part.
 */
export const MachinePublicKey = v.pipe(
  v.strictObject(Jwk.entries),
  v.description('The Ed25519 key that checks its assertions.'),
)

export const machines = {
  create: {
    method: 'POST',
    path: '/device/v1/machines',
    by: 'account',
    errors: ['not_found', 'conflict', 'no_active_organisation'],
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
    reply: listOf(ApiToken),
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
