/**
 * The token endpoint (RFC 6749 section 4.4). It exchanges a machine account's assertion for a
 * `csm_` token of one hour. Its errors are those of OAuth, because OAuth libraries call it.
 */
import type { Open } from '../../api/port.ts'
import { machineOf, oauthError, refusedAssertion } from './assertions.ts'
import type { ServiceContext } from '../context.ts'
import { mintMachineToken } from './machine-tokens.ts'
import { tokenEndpoint } from './machines.ts'

type Needs = Pick<ServiceContext, 'db' | 'now' | 'publicUrl' | 'seenOnce'>

const LIFETIME_S = 3600
const NAME = 'client_credentials'
const GRANT = 'client_credentials'
const BY_JWT = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** Each scope includes the ones before it. */
const SCOPES = ['read', 'write', 'full'] as const

/** RFC 6749 section 3.2: a parameter without a value counts as omitted. */
const given = (text: string | undefined) => (text === '' ? undefined : text)

/** Returns the widest scope in a list (RFC 6749 section 3.3). */
function widest(list: string) {
  const ranks = list.split(' ').map((scope) => SCOPES.findIndex((known) => known === scope))
  const scope = ranks.includes(-1) ? undefined : SCOPES[Math.max(...ranks)]
  if (scope === undefined)
    throw oauthError('invalid_scope', 'The scopes here are read, write and full.')
  return scope
}

/** Returns the assertion that authenticates the client (RFC 7521 section 4.2). */
function assertionIn(type: string | undefined, assertion: string | undefined): string {
  if (type === undefined && assertion === undefined)
    throw oauthError(
      'invalid_client',
      'A client proves itself here by private_key_jwt: send client_assertion_type and client_assertion.',
    )
  if (type === undefined || assertion === undefined)
    throw oauthError(
      'invalid_request',
      'Send client_assertion_type and client_assertion, one with the other.',
    )
  if (type !== BY_JWT)
    throw oauthError('invalid_client', `The client_assertion_type here is ${BY_JWT}.`)
  return assertion
}

/**
 * Deletes an account's expired tokens of this endpoint. Clients get one an hour, which would fill
 * the list.
 */
const forgetExpired = ({ db, now }: Needs, account: string) =>
  db
    .deleteFrom('machine_tokens')
    .where('account_id', '=', account)
    .where('granted', '=', 1)
    .where('expires_at', '<=', now())
    .execute()

export const oauth = (ground: Needs): Open['oauth'] => ({
  token: async ({ body }) => {
    const grant = given(body.grant_type)
    if (grant === undefined)
      throw oauthError('invalid_request', `Send grant_type=${GRANT} in a form.`)
    if (grant !== GRANT)
      throw oauthError('unsupported_grant_type', `The grant_type here is ${GRANT}.`)
    // Checks the scope first, because an assertion is valid for one attempt.
    const scope = widest(given(body.scope) ?? 'read')
    const assertion = assertionIn(given(body.client_assertion_type), given(body.client_assertion))
    const { machine, account } = await machineOf(ground, assertion)
    if ((given(body.client_id) ?? machine) !== machine)
      throw refusedAssertion(new Error('client_id is not the subject of the assertion.'))
    await forgetExpired(ground, account)
    const { token } = await mintMachineToken(ground, account, {
      name: NAME,
      label: null,
      scope,
      expires_in: LIFETIME_S,
      granted: 1,
    })
    return { access_token: token, token_type: 'Bearer', expires_in: LIFETIME_S, scope }
  },
  // RFC 8414 section 2
  metadata: async () => ({
    issuer: ground.publicUrl(),
    token_endpoint: tokenEndpoint(ground),
    grant_types_supported: [GRANT],
    response_types_supported: [],
    scopes_supported: [...SCOPES],
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    // RFC 9864, and the older name of the same algorithm.
    token_endpoint_auth_signing_alg_values_supported: ['Ed25519', 'EdDSA'],
  }),
})
