/**
 * Enrolment: how a device joins an account and gets its session.
 *
 * A user proves access to a mailbox by a code that was sent there. A machine account proves its key
 * by an assertion. With either one, the device enrols as the first device of an account, as an
 * additional device, or as the only device after all others were lost.
 */
import * as v from 'valibot'
import { Jwk, Jws, SealKey, SealKeyId, Time, email, id, name } from '../fields.ts'
import type { Routes } from '../route.ts'

/**
 * A session as a device stores it.
 *
 * Both tokens are secret and are bound to the device's authentication key (RFC 9449).
 */
export const SessionTokens = v.object({
  session_id: id('ses_'),
  refresh_token: v.string(),
  access_token: v.string(),
  access_expires_at: Time,
})
export type SessionTokens = v.InferOutput<typeof SessionTokens>

/** A device's public keys, as the key log names them. */
export const DeviceKeys = v.strictObject({ sign: Jwk, seal: SealKeyId, auth: Jwk })

export const Enrolment = v.object({
  account_id: id('acc_'),
  device_id: id('dev_'),
  approved: v.pipe(
    v.boolean(),
    v.description(
      'false: another device already exists. The new device may only read until it has posted its check of the key log.',
    ),
  ),
  receipt_key: v.pipe(Jwk, v.description('The key that signs receipts. The device pins it.')),
  session: SessionTokens,
})

export const Platform = v.picklist(['linux', 'macos', 'windows', 'other'])

/**
 * The credential for an account. Exactly one of the two members must be given.
 *
 * A code was mailed or created by the operator. An assertion comes from a machine account.
 */
const credential = {
  code: v.optional(
    v.pipe(v.string(), v.maxLength(100), v.description('The sign-in code of a person.')),
  ),
  assertion: v.optional(
    v.pipe(
      Jws,
      v.description(
        'The assertion of a machine account (RFC 7523 section 2.2), a new one for each request.',
      ),
    ),
  ),
}
const Place = v.pipe(v.number(), v.integer(), v.minValue(0))
const device = { device_name: name(100), platform: Platform }

// These rows ignore an `Idempotency-Key`, because such a key belongs to a known caller, and the
// callers of these rows are not known yet. A client that did not receive the answer must
// authenticate again.

/** The maximum body size of public routes, in bytes: enough for two JWS and names. */
const LIMIT = 65_536

export const signIns = {
  create: {
    method: 'POST',
    path: '/device/v1/sign-ins',
    by: 'account',
    errors: ['rate_limited', 'backend_error'],
    limit: LIMIT,
    localized: true,
    repeats: true,
    body: v.strictObject({ email }),
    reply: v.object({ email, expires_at: Time }),
    status: 202,
  },
  read: {
    method: 'POST',
    path: '/device/v1/sign-ins/account',
    by: 'account',
    errors: ['invalid_client', 'invalid_token', 'forbidden', 'rate_limited'],
    limit: LIMIT,
    repeats: true,
    body: v.strictObject({
      ...credential,
      from: v.optional(
        v.pipe(Place, v.description('The seq of the first key log entry to return; 0 if absent.')),
      ),
    }),
    reply: v.object({
      account_id: v.pipe(
        v.nullable(id('acc_')),
        v.description('null if there is no account yet; the first device that enrols creates it.'),
      ),
      key_log: v.pipe(
        v.array(Jws),
        v.description('The key log from that entry on, as many entries as fit in one answer.'),
      ),
      key_log_seq: v.pipe(
        v.nullable(Place),
        v.description(
          'The seq of the newest key log entry; null if the account has never had a device.',
        ),
      ),
      email: v.pipe(
        v.nullable(email),
        v.description(
          'The email address that the code was sent to; null for any other credential.',
        ),
      ),
    }),
  },
} as const satisfies Routes

/** The errors of a device that enrols, caused by its credential, its keys or the key log. */
const ENROLMENT_ERRORS = [
  'invalid_client',
  'invalid_token',
  'forbidden',
  'invalid_state',
  'rate_limited',
] as const

export const enrolment = {
  create: {
    method: 'POST',
    path: '/device/v1/enrolments',
    by: 'account',
    errors: ENROLMENT_ERRORS,
    limit: LIMIT,
    repeats: true,
    body: v.strictObject({
      ...credential,
      ...device,
      display_name: name(100),
      entry: v.pipe(
        Jws,
        v.description(
          'The first key log entry (seq 0), or a reset. It names the account and the device.',
        ),
      ),
      seal_key: SealKey,
    }),
    reply: Enrolment,
    status: 201,
  },
  further: {
    method: 'POST',
    path: '/device/v1/enrolments/further',
    by: 'account',
    errors: ENROLMENT_ERRORS,
    limit: LIMIT,
    repeats: true,
    body: v.strictObject({
      ...credential,
      ...device,
      device: id('dev_'),
      keys: DeviceKeys,
      seal_key: SealKey,
    }),
    reply: Enrolment,
    status: 201,
  },
} as const satisfies Routes

export const session = {
  renew: {
    method: 'POST',
    path: '/device/v1/session',
    by: 'account',
    errors: ['invalid_token', 'forbidden', 'rate_limited'],
    limit: LIMIT,
    body: v.strictObject({ refresh_token: v.pipe(v.string(), v.maxLength(200)) }),
    reply: SessionTokens,
  },
} as const satisfies Routes

export const currentSession = {
  delete: {
    method: 'DELETE',
    path: '/device/v1/session/current',
    by: 'account',
    status: 204,
  },
} as const satisfies Routes
