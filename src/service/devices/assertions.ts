/**
 * Verification of the assertions of machine accounts (RFC 7523 section 3). The error is the same
 * for every reason, so that it does not reveal which accounts exist; the log contains the reason.
 * Only the holder of the key gets an error about the clock.
 */
import { hash } from 'node:crypto'
import { readAssertion, verifyAssertion } from '../../crypto/jose/client-assertion.ts'
import type { PublicJwk } from '../../crypto/jose/jwk.ts'
import { LEEWAY_S } from '../../crypto/jose/jwt.ts'
import { type RefusalReason, Refusal, onRefusalLater } from '../../crypto/refusal.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import { activeMachines, tokenEndpoint } from './machines.ts'

type Needs = Pick<ServiceContext, 'db' | 'now' | 'publicUrl' | 'seenOnce'>

/** The reasons of `verifyAssertion` about times, which it checks after the signature. */
const OF_TIME: readonly RefusalReason[] = ['expired', 'expires_too_late', 'not_yet_valid']

/**
 * Returns an error for OAuth clients (RFC 6749 section 5.2): ASCII, without quotes or
 * backslashes.
 */
export const oauthError = (
  code: Extract<
    ErrorCode,
    'invalid_client' | 'invalid_request' | 'invalid_scope' | 'unsupported_grant_type'
  >,
  message: string,
  options: { cause?: unknown } = {},
): AppError => new AppError(code, message, { ...options, details: { error_description: message } })

/** Returns the error for every assertion that does not prove a machine account. */
export const refusedAssertion = (cause: unknown): AppError =>
  oauthError(
    'invalid_client',
    cause instanceof Refusal && OF_TIME.includes(cause.reason)
      ? "The assertion's times do not fit this server's clock: check yours, and sign one that expires within 5 minutes."
      : 'The assertion is not accepted: sign a new one for this server with the key of the machine account. One that is suspended in its organisation is refused too.',
    { cause },
  )

/**
 * Returns the machine that an assertion proves. An assertion is valid once, across all replicas.
 * @returns the machine id, and its account id, which is the same until its first device enrols
 * @throws AppError `invalid_client`
 */
export async function machineOf(
  ground: Needs,
  assertion: string,
): Promise<{ machine: string; account: string }> {
  const { machine, account, jti, exp } = await onRefusalLater(
    () => verified(ground, assertion),
    refusedAssertion,
  )
  // Twice the leeway, because the clocks of replicas differ too.
  const until = (exp + 2 * LEEWAY_S) * 1000
  const use = hash('sha256', `assertion ${machine} ${jti}`, 'hex')
  if (!(await ground.seenOnce.first(use, until)))
    throw refusedAssertion(new Error('This assertion was used before.'))
  return { machine, account }
}

async function verified({ db, now, publicUrl }: Needs, assertion: string) {
  const { machine } = readAssertion(assertion)
  const row = await activeMachines(db)
    .select(['key', 'machines.account_id'])
    .where('machines.id', '=', machine)
    .executeTakeFirst()
  if (row === undefined)
    throw refusedAssertion(new Error(`${machine} is no machine, or a suspended one.`))
  const verified = await verifyAssertion(assertion, {
    publicKey: JSON.parse(row.key) as PublicJwk,
    audiences: [publicUrl(), tokenEndpoint({ publicUrl })],
    now: Math.floor(now() / 1000),
  })
  return { ...verified, account: row.account_id }
}
