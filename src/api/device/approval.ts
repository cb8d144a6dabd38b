/**
 * The approval of an additional device (protocol, section 3), relayed by the account server.
 *
 * The new device commits to its keys and a nonce. An active device of the account answers with its
 * own nonce, and then the new device reveals its keys and nonce. Both devices compute the words on
 * their screens from these values; the server has no influence on them. An attempt ends 15 minutes
 * after its commitment.
 */
import * as v from 'valibot'
import { id } from '../fields.ts'
import type { Routes } from '../route.ts'
import { DeviceKeys, Platform } from './enrolment.ts'

const bytes32 = (what: string) =>
  v.pipe(v.string(), v.regex(/^[\w-]{43}$/), v.description(`${what}, 32 bytes in base64url.`))

const Commitment = bytes32('The commitment C')

const Answer = v.strictObject({
  nonce: bytes32('The nonce nO of the approving device'),
  seq: v.pipe(
    v.number(),
    v.integer(),
    v.minValue(0),
    v.description(
      'The key log entry that the new device must find. The entry of the new device comes after it.',
    ),
  ),
  head: bytes32('The hash of that entry'),
})

const Reveal = v.strictObject({
  account: id('acc_'),
  device: id('dev_'),
  keys: DeviceKeys,
  nonce: bytes32('The nonce nN of the new device'),
})

/** The routes for the device that approves. */
export const pendingDevices = {
  read: {
    method: 'GET',
    path: '/device/v1/pending-devices/{id}',
    by: 'account',
    reply: v.object({
      id: id('dev_'),
      name: v.string(),
      platform: Platform,
      commitment: v.pipe(
        v.nullable(Commitment),
        v.description('null if the new device has not begun an attempt.'),
      ),
      answered_by: v.pipe(
        v.nullable(id('dev_')),
        v.description('The device that answered this commitment.'),
      ),
      reveal: v.pipe(
        v.nullable(Reveal),
        v.description(
          'Only for the device that answered, after the new device has revealed its values.',
        ),
      ),
    }),
  },
  answer: {
    method: 'POST',
    path: '/device/v1/pending-devices/{id}/answer',
    by: 'account',
    body: v.strictObject({ commitment: Commitment, answer: Answer }),
    status: 204,
  },
} as const satisfies Routes

/** The routes for the new device. */
export const approval = {
  begin: {
    method: 'POST',
    path: '/device/v1/approval/commitment',
    by: 'account',
    errors: ['invalid_state'],
    body: v.strictObject({ commitment: Commitment }),
    status: 204,
  },
  read: {
    method: 'GET',
    path: '/device/v1/approval',
    by: 'account',
    errors: ['not_found'],
    reply: v.object({
      commitment: v.pipe(v.nullable(Commitment), v.description('null if there is no attempt.')),
      answer: v.pipe(v.nullable(Answer), v.description('null if no device has answered yet.')),
    }),
  },
  reveal: {
    method: 'POST',
    path: '/device/v1/approval/reveal',
    by: 'account',
    errors: ['not_found'],
    body: v.strictObject({ commitment: Commitment, reveal: Reveal }),
    status: 204,
  },
  create: {
    method: 'POST',
    path: '/device/v1/approval',
    by: 'account',
    errors: ['invalid_state'],
    body: v.strictObject({ head: bytes32('The hash of the newest entry that it checked') }),
    status: 204,
  },
} as const satisfies Routes
