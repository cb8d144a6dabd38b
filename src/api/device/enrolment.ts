import * as v from 'valibot'
import { Jwk, Jws, Time, id, name } from '../fields.ts'
import type { Routes } from '../route.ts'

/** A session as a device keeps it. Both tokens are secrets. */
export const Session = v.object({
  session_id: id('ses_'),
  refresh_token: v.string(),
  access_token: v.string(),
  access_expires_at: Time,
})
export type Session = v.InferOutput<typeof Session>

export const Enrolment = v.object({
  account_id: id('acc_'),
  device_id: id('dev_'),
  receipt_key: v.pipe(Jwk, v.description('The key of receipts, pinned by the device.')),
  session: Session,
})

const platforms = ['linux', 'macos', 'windows', 'other'] as const

export const enrolment = {
  create: {
    method: 'POST',
    path: '/device/v1/enrolments',
    summary: 'Enrol the first device of an account',
    by: 'account',
    body: v.strictObject({
      code: v.pipe(v.string(), v.maxLength(100), v.description('The enrolment code.')),
      display_name: name(100),
      device_name: name(100),
      platform: v.picklist(platforms),
      entry: v.pipe(Jws, v.description('Seq 0 of the key log; it names the account and device.')),
    }),
    reply: Enrolment,
    status: 201,
  },
} as const satisfies Routes

export const session = {
  renew: {
    method: 'POST',
    path: '/device/v1/session',
    summary: 'Renew the session of a device',
    by: 'account',
    body: v.strictObject({ refresh_token: v.pipe(v.string(), v.maxLength(200)) }),
    reply: Session,
  },
} as const satisfies Routes
