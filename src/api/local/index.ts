/**
 * *local*: the undocumented routes that only the command line uses.
 *
 * They control the session, use this device's keys, and make backups. They require the command
 * line's own token; API tokens are rejected.
 */
import * as v from 'valibot'
import { email, id, name } from '../fields.ts'
import { Machine, MachinePublicKey } from '../device/machines.ts'
import { ShownWords } from '../rest/approvals.ts'
import { BACKEND_ERRORS, type Table } from '../route.ts'
import { backupSchedule } from './backup-schedule.ts'
import { backups } from './backup.ts'
import { RecoverySignature, ResetPlan, recovery } from './recovery.ts'

/**
 * A machine account's private key as its key file contains it.
 *
 * It is a JWK (RFC 8037) with the id of the machine account.
 */
export const MachineKey = v.object({
  kty: v.literal('OKP'),
  crv: v.literal('Ed25519'),
  x: v.string(),
  d: v.string(),
  machine: id('mch_'),
  token_endpoint: v.string(),
  name: v.optional(
    v.pipe(name(100), v.description('The name of the machine, which its device signs.')),
  ),
})
export type MachineKey = v.InferOutput<typeof MachineKey>

export type { ResetPlan }

export const SignIn = v.object({
  state: v.pipe(
    v.picklist(['signed_out', 'code_sent', 'awaiting_approval', 'signed_in']),
    v.description(
      'awaiting_approval: enrolled as another device of the account, which may only read until it is approved. ' +
        'code_sent with an account: the session of this enrolled device has ended, and a code gives it a new session.',
    ),
  ),
  email: v.nullable(v.string()),
  account_id: v.nullable(id('acc_')),
  device_id: v.nullable(id('dev_')),
  device_words: v.pipe(
    v.nullable(v.string()),
    v.description(
      'Four words to type on the other device, once it has answered the approval attempt of this device; otherwise null.',
    ),
  ),
})
export type SignIn = v.InferOutput<typeof SignIn>

const resetting = {
  reset: v.optional(
    v.pipe(v.boolean(), v.description('Revoke all earlier devices, because all of them are lost.')),
    false,
  ),
  recovery_sig: v.optional(
    v.pipe(
      RecoverySignature,
      v.description('The signature of the recovery key over `unsigned` from the plan.'),
    ),
  ),
}

const Code = v.pipe(v.string(), v.maxLength(100))

export const local = {
  backups,
  backupSchedule,
  signIn: {
    /** Get the account that this device is signed in to. */
    read: {
      method: 'GET',
      path: '/local/v1/sign-in',
      by: 'daemon',
      reply: SignIn,
    },
    /** Have a code sent to a mailbox. */
    begin: {
      method: 'POST',
      path: '/local/v1/sign-in',
      by: 'daemon',
      errors: ['invalid_state', ...BACKEND_ERRORS],
      body: v.strictObject({ email }),
      reply: SignIn,
    },
    /** Get the reset entry that the recovery key has to sign. Nothing is posted. */
    planReset: {
      method: 'POST',
      path: '/local/v1/sign-in/reset-plan',
      by: 'daemon',
      errors: ['conflict', 'invalid_state', ...BACKEND_ERRORS],
      body: v.strictObject({
        by: v.union([v.strictObject({ code: Code }), v.strictObject({ key: MachineKey })]),
        recovery_key: v.optional(
          v.pipe(
            v.nullable(v.string()),
            v.description(
              'The `x` of the recovery key that will sign; null for a reset without a recovery key.',
            ),
          ),
          null,
        ),
      }),
      reply: ResetPlan,
    },
    /** Sign in with a mailed code. */
    code: {
      method: 'POST',
      path: '/local/v1/sign-in/code',
      by: 'daemon',
      errors: ['conflict', 'invalid_state', ...BACKEND_ERRORS],
      body: v.strictObject({ code: Code, ...resetting }),
      reply: SignIn,
    },
    /** Sign in as a machine account. */
    machine: {
      method: 'POST',
      path: '/local/v1/sign-in/machine',
      by: 'daemon',
      errors: ['conflict', 'invalid_state', ...BACKEND_ERRORS],
      body: v.strictObject({ key: MachineKey, ...resetting }),
      reply: SignIn,
    },
    /** Begin an approval of this device. It lasts 15 minutes and ends an earlier attempt. */
    beginApproval: {
      method: 'POST',
      path: '/local/v1/sign-in/approval/attempt',
      by: 'daemon',
      errors: ['conflict', 'invalid_state', ...BACKEND_ERRORS],
      reply: SignIn,
    },
    /** Continue the approval of this device. Called every second until there are words. */
    advanceApproval: {
      method: 'POST',
      path: '/local/v1/sign-in/approval/step',
      by: 'daemon',
      errors: ['conflict', 'invalid_state', ...BACKEND_ERRORS],
      reply: SignIn,
    },
    /** Compare the typed words with the four words that the approving device displays. */
    approve: {
      method: 'POST',
      path: '/local/v1/sign-in/approval',
      by: 'daemon',
      errors: ['conflict', 'invalid_state', 'unknown_word', 'word_count', ...BACKEND_ERRORS],
      body: v.strictObject({ words: ShownWords }),
      reply: SignIn,
    },
    /** Revoke this device and delete its data. */
    end: {
      method: 'POST',
      path: '/local/v1/sign-out',
      by: 'daemon',
      errors: ['conflict', 'invalid_state', ...BACKEND_ERRORS],
      body: v.strictObject({
        last_device: v.optional(
          v.pipe(
            v.boolean(),
            v.description('Sign out even if this is the last device of the account.'),
          ),
          false,
        ),
        forget: v.optional(
          v.pipe(
            v.boolean(),
            v.description(
              'Sign out even if the account server cannot be reached or rejects the session. ' +
                'Also deletes the keys and data of an unfinished sign-in.',
            ),
          ),
          false,
        ),
      }),
      status: 204,
    },
  },
  recovery,
  sealKey: {
    /** Give this device a new sealing key. */
    renew: {
      method: 'POST',
      path: '/local/v1/sealing-key',
      by: 'daemon',
      errors: ['conflict', 'invalid_state', 'no_device', ...BACKEND_ERRORS],
      reply: v.object({
        device_id: id('dev_'),
        old_key_until: v.pipe(
          v.string(),
          v.description('The time at which the previous private key is deleted.'),
        ),
      }),
    },
  },
  publication: {
    /** Get where the links of the account lead, and where the embedded account server listens. */
    read: {
      method: 'GET',
      path: '/local/v1/publication',
      by: 'daemon',
      reply: v.object({
        url: v.pipe(v.string(), v.description('The base URL of the links.')),
        account_address: v.pipe(
          v.nullable(v.string()),
          v.description('null: the account server is not in this daemon, or no daemon runs.'),
        ),
      }),
    },
  },
  clock: {
    /** Accept the clock of this machine as correct. */
    accept: {
      method: 'POST',
      path: '/local/v1/clock',
      by: 'daemon',
      errors: ['invalid_state', 'no_device', 'not_signed_in'],
      status: 204,
    },
  },
  machines: {
    /** Create a machine account. */
    create: {
      method: 'POST',
      path: '/local/v1/machines',
      by: 'daemon',
      errors: ['not_found', 'conflict', 'no_active_organisation', 'no_device', ...BACKEND_ERRORS],
      body: v.strictObject({ organisation_id: id('org_'), name: name(100), key: MachinePublicKey }),
      reply: Machine,
      status: 201,
    },
  },
} as const satisfies Table
export type Local = typeof local
