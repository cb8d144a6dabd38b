/**
 * The approval of a further device (protocol, section 3): a device that is signed in reads the newcomer's keys here, compares
 * six words with its person, and adds the newcomer to the key log; the newcomer compares six words of that log and says so.
 */
import * as v from 'valibot'
import { Time, id } from '../fields.ts'
import type { Routes } from '../route.ts'
import { DeviceKeys, Platform } from './enrolment.ts'

export const pendingDevices = {
  list: {
    method: 'GET',
    path: '/device/v1/pending-devices',
    summary: 'List the devices of this account that wait for approval, with their keys',
    by: 'account',
    reply: v.object({
      items: v.array(
        v.object({
          id: id('dev_'),
          name: v.string(),
          platform: Platform,
          keys: DeviceKeys,
          created_at: Time,
        }),
      ),
    }),
  },
} as const satisfies Routes

export const approval = {
  create: {
    method: 'POST',
    path: '/device/v1/approval',
    summary: 'Say that the person compared the words of the key log on this new device',
    by: 'account',
    body: v.strictObject({
      head: v.pipe(
        v.string(),
        v.regex(/^[\w-]{43}$/),
        v.description('The hash of the newest entry that was compared, base64url.'),
      ),
    }),
    status: 204,
  },
} as const satisfies Routes
