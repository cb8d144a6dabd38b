/**
 * Approvals: this device approves a new device of the account, with the words of both screens. Only
 * the command line and a console of scope `full` may approve.
 * @see protocol, section 3
 */
import * as v from 'valibot'
import { BACKEND_ERRORS, type Routes } from '../route.ts'

/** A warning to the user, shown before they type the words of a new device. */
export const APPROVAL_WARNING =
  'Approving gives the new device full access to your account. The screen of the new device must be in front of you. Never type words that another person dictates to you.'

/** Four words, as the user read them on another screen. */
export const ShownWords = v.pipe(v.string(), v.maxLength(400))

const Approval = v.object({
  device_name: v.string(),
  state: v.pipe(
    v.picklist(['waiting', 'answered', 'revealing', 'ready']),
    v.description(
      'waiting: the new device has not begun. answered: the new device must begin again, because its commitment was already answered. ' +
        'revealing: the new device must show its words. ready: the words can be typed here.',
    ),
  ),
})

export const approvals = {
  read: {
    method: 'GET',
    path: '/api/v1/devices/{id}/approval',
    by: 'daemon',
    errors: ['no_device', ...BACKEND_ERRORS],
    reply: v.object({
      state: v.pipe(
        v.picklist(['pending', 'active']),
        v.description('pending: the words of this device were not typed on the new device yet.'),
      ),
      unsealed: v.pipe(
        v.number(),
        v.integer(),
        v.description(
          'How many connections have a secret that this device has, and that is not sealed to the new device yet.',
        ),
      ),
    }),
  },
  begin: {
    method: 'POST',
    path: '/api/v1/devices/{id}/approval/attempt',
    by: 'daemon',
    repeats: true,
    errors: ['conflict', 'forbidden', 'invalid_state', 'no_device', ...BACKEND_ERRORS],
    reply: Approval,
  },
  advance: {
    method: 'POST',
    path: '/api/v1/devices/{id}/approval/step',
    by: 'daemon',
    repeats: true,
    errors: ['conflict', 'forbidden', 'invalid_state', 'no_device', ...BACKEND_ERRORS],
    reply: Approval,
  },
  create: {
    method: 'POST',
    path: '/api/v1/devices/{id}/approval',
    by: 'daemon',
    repeats: true,
    errors: [
      'conflict',
      'forbidden',
      'invalid_state',
      'no_device',
      'unknown_word',
      'word_count',
      ...BACKEND_ERRORS,
    ],
    body: v.strictObject({
      words: v.pipe(ShownWords, v.description(APPROVAL_WARNING)),
    }),
    reply: v.object({
      device_name: v.string(),
      words: v.pipe(v.string(), v.description('Four words to type on the new device.')),
    }),
  },
} as const satisfies Routes
