/**
 * The token endpoint (RFC 6749 section 4.4) and machine accounts' assertions (RFC 7523 section 3).
 * The endpoint exchanges an assertion for a `csm_` token that is valid for one hour. It returns
 * OAuth errors, because OAuth libraries call it.
 *
 * All rejected assertions get the same error, which does not reveal which accounts exist. The log
 * contains the reason. The only other error is about the clock, which only a client with the right
 * key can get.
 */
import { hash } from 'node:crypto'
import type { Open } from '../../api/port.ts'
import { readAssertion, verifyAssertion } from '../../crypto/jose/client-assertion.ts'
import type { PublicJwk } from '../../crypto/jose/jwk.ts'
import { LEEWAY_S } from '../../crypto/jose/jwt.ts'
import { onRefusalLater, Refusal, type RefusalReason } from '../../crypto/refusal.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import { mintMachineToken } from './machine-tokens.ts'
import { activeMachines, tokenEndpoint } from './machines.ts'

type AssertionContext = Pick<ServiceContext, 'db' | 'now' | 'publicUrl' | 'seenOnce'>

/** The reasons about times. `verifyAssertion` checks times only after the signature. */
const OF_TIME: readonly RefusalReason[] = ['expired', 'expires_too_late', 'not_yet_valid']

/**
 * Returns an error for OAuth clients. `message` must be ASCII without double quotes or backslashes
 * (RFC 6749 section 5.2).
 */
const oauthError = (
  code: Extract<
    ErrorCode,
    'invalid_client' | 'invalid_request' | 'invalid_scope' | 'unsupported_grant_type'
  >,
  message: string,
  options: { cause?: unknown } = {},
): AppError => new AppError(code, message, { ...options, details: { error_description: message } })

/** Returns the error for an assertion that is not accepted, whatever the reason. */
const refusedAssertion = (cause: unknown): AppError =>
  oauthError(
    'invalid_client',
    cause instanceof Refusal && OF_TIME.includes(cause.reason)
      ? "The assertion's times do not match this server's clock. Check your clock, and sign an assertion that expires within 5 minutes."
      : 'The assertion is not accepted. Sign a new one for this server with the key of the machine account. A machine account that is suspended in its organisation is rejected, too.',
    { cause },
  )

/**
 * Returns the machine that an assertion proves. An assertion is accepted once across all replicas.
 * @returns the machine id and the account id, which are the same until the first device enrols
 * @throws AppError `invalid_client`
 */
export async function machineOf(
  ground: AssertionContext,
  assertion: string,
): Promise<{ machine: string; account: string }> {
  const { machine, account, jti, exp } = await onRefusalLater(
    () => verified(ground, assertion),
    refusedAssertion,
  )
  // Twice the leeway, because replicas' clocks differ too.
  const until = (exp + 2 * LEEWAY_S) * 1000
  const use = hash('sha256', `assertion ${machine} ${jti}`, 'hex')
  if (!(await ground.seenOnce.first(use, until)))
    throw refusedAssertion(new Error('This assertion was used before.'))
  return { machine, account }
}

async function verified({ db, now, publicUrl }: AssertionContext, assertion: string) {
  const { machine } = readAssertion(assertion)
  const row = await activeMachines(db)
    .select(['key', 'machines.account_id'])
    .where('machines.id', '=', machine)
    .executeTakeFirst()
  if (row === undefined)
    throw refusedAssertion(new Error(`${machine} is not a machine account, or is suspended.`))
  const verified = await verifyAssertion(assertion, {
    publicKey: JSON.parse(row.key) as PublicJwk,
    audiences: [publicUrl(), tokenEndpoint({ publicUrl })],
    now: Math.floor(now() / 1000),
  })
  return { ...verified, account: row.account_id }
}

const LIFETIME_S = 3600
const NAME = 'client_credentials'
const GRANT = 'client_credentials'
const BY_JWT = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** The scopes in ascending order. Each includes the previous ones. */
const SCOPES = ['read', 'write', 'full'] as const

/** A parameter without a value counts as omitted (RFC 6749 section 3.2). */
const given = (text: string | undefined) => (text === '' ? undefined : text)

/** Returns the widest scope in a list (RFC 6749 section 3.3). */
function widest(list: string) {
  const ranks = list.split(' ').map((scope) => SCOPES.findIndex((known) => known === scope))
  const scope = ranks.includes(-1) ? undefined : SCOPES[Math.max(...ranks)]
  if (scope === undefined)
    throw oauthError('invalid_scope', 'The supported scopes are read, write and full.')
  return scope
}

/** Returns the assertion that authenticates the client (RFC 7521 section 4.2). */
function assertionIn(type: string | undefined, assertion: string | undefined): string {
  if (type === undefined && assertion === undefined)
    throw oauthError(
      'invalid_client',
      'Clients must authenticate by private_key_jwt. Send client_assertion_type and client_assertion.',
    )
  if (type === undefined || assertion === undefined)
    throw oauthError('invalid_request', 'Send both client_assertion_type and client_assertion.')
  if (type !== BY_JWT)
    throw oauthError('invalid_client', `The client_assertion_type must be ${BY_JWT}.`)
  return assertion
}

/**
 * Deletes an account's expired tokens from this endpoint. Clients get one every hour, so the list
 * would grow forever.
 */
const forgetExpired = ({ db, now }: AssertionContext, account: string) =>
  db
    .deleteFrom('machine_tokens')
    .where('account_id', '=', account)
    .where('granted', '=', 1)
    .where('expires_at', '<=', now())
    .execute()

export const oauth = (ground: AssertionContext): Open['oauth'] => ({
  token: async ({ body }) => {
    const grant = given(body.grant_type)
    if (grant === undefined)
      throw oauthError('invalid_request', `Send grant_type=${GRANT} in a form.`)
    if (grant !== GRANT)
      throw oauthError('unsupported_grant_type', `The grant_type must be ${GRANT}.`)
    // The scope is checked first, because the assertion can be used only once.
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
  // The authorization server metadata (RFC 8414 section 2).
  metadata: async () => ({
    issuer: ground.publicUrl(),
    token_endpoint: tokenEndpoint(ground),
    grant_types_supported: [GRANT],
    response_types_supported: [],
    scopes_supported: [...SCOPES],
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    // The algorithm's name of RFC 9864 and its older name.
    token_endpoint_auth_signing_alg_values_supported: ['Ed25519', 'EdDSA'],
  }),
})
