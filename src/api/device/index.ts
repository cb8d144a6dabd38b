/**
 * *device*: what a daemon asks an account server. `entrance` is what a device may ask before it has a session;
 * `signedIn` is the rest.
 */
import type { Table } from '../route.ts'
import { clock } from './clock.ts'
import { enrolment, session } from './enrolment.ts'
import { deviceGuestCodes } from './guest-codes.ts'
import { envelopes, keyLogs, rosters } from './logs.ts'
import { stamps } from './stamps.ts'
import { verifications } from './verifications.ts'

export const entrance = { enrolment, session, clock } as const satisfies Table
export type Entrance = typeof entrance

export const signedIn = {
  keyLogs,
  rosters,
  envelopes,
  deviceGuestCodes,
  stamps,
  verifications,
} as const satisfies Table
export type SignedIn = typeof signedIn
