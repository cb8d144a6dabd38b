/**
 * The recovery key.
 *
 * The command line creates the recovery words, reads them from the user, and signs with their key.
 * The words never leave the command line: the daemon gets only the public key and signatures.
 */
import * as v from 'valibot'
import { DeviceKeys } from '../device/enrolment.ts'
import { Jwk, Time, id } from '../fields.ts'
import { BACKEND_ERRORS, type Routes } from '../route.ts'

const Seq = v.pipe(v.number(), v.integer(), v.minValue(0))
/** The place of an entry in an account's key log (section 3). */
const place = { account: id('acc_'), seq: Seq, prev: v.string() }

/** An entry's `recovery_sig`: an Ed25519 signature in base64url. */
export const RecoverySignature = v.pipe(v.string(), v.regex(/^[\w-]{86}$/))

export const ResetPlan = v.object({
  has_recovery_key: v.pipe(
    v.boolean(),
    v.description(
      'Whether a recovery key can sign the reset, so that no contact has to confirm it.',
    ),
  ),
  unsigned: v.pipe(
    v.nullable(v.object({ ...place, device: id('dev_'), keys: DeviceKeys })),
    v.description(
      'The part of the entry that the recovery key signs; null if the reset is already done.',
    ),
  ),
})
export type ResetPlan = v.InferOutput<typeof ResetPlan>

export const RecoveryKey = v.object({
  key: v.pipe(
    v.nullable(Jwk),
    v.description('The public half of the active recovery key, or null.'),
  ),
  since: v.pipe(
    v.nullable(Time),
    v.description('The time from which the recovery key is active, as its entry claims.'),
  ),
  next: v.pipe(v.object(place), v.description('The position of the next key log entry.')),
})
export type RecoveryKey = v.InferOutput<typeof RecoveryKey>

export const recovery = {
  /** Get the current recovery key. */
  read: {
    method: 'GET',
    path: '/local/v1/recovery-key',
    by: 'daemon',
    errors: ['no_device', ...BACKEND_ERRORS],
    reply: RecoveryKey,
  },
  /** Activate a recovery key. */
  create: {
    method: 'POST',
    path: '/local/v1/recovery-key',
    by: 'daemon',
    errors: ['conflict', 'invalid_state', 'no_device', ...BACKEND_ERRORS],
    body: v.strictObject({
      key: Jwk,
      seq: v.pipe(Seq, v.description('The `seq` from `next`.')),
      recovery_sig: v.optional(
        v.pipe(
          RecoverySignature,
          v.description('The signature of the active recovery key, which the new key replaces.'),
        ),
      ),
    }),
    reply: RecoveryKey,
    status: 201,
  },
  /** Record that the user set the recovery key, so that the notice about it disappears. */
  dismiss: {
    method: 'DELETE',
    path: '/local/v1/recovery-key/notice',
    by: 'daemon',
    errors: ['no_device', 'not_signed_in'],
    reply: v.object({
      dismissed: v.pipe(v.nullable(v.string()), v.description('The text of the notice, or null.')),
    }),
  },
} as const satisfies Routes
