/**
 * *device*: the routes of an account server for daemons. `entrance` contains those for a device
 * without a session; `signedIn` contains the rest.
 */
import type { Table } from '../route.ts'
import { approval, pendingDevices } from './approval.ts'
import { clock } from './clock.ts'
import { deletion } from './deletion.ts'
import { currentSession, enrolment, session, signIns } from './enrolment.ts'
import { downloads } from './downloads.ts'
import { deviceFirstContacts } from './first-contacts.ts'
import { deviceGuestCodes } from './guest-codes.ts'
import { consents, duties, envelopes, keyLogs, rosters, signedProfiles } from './logs.ts'
import { lookups, publicCode } from './public-code.ts'
import { bearer, machineTokens, machines } from './machines.ts'
import { oauth } from './oauth.ts'
import { openLinkApprovals } from './open-links.ts'
import { stamps } from './stamps.ts'
import { verifications } from './verifications.ts'

export const entrance = { signIns, enrolment, session, clock, oauth } as const satisfies Table
export type Entrance = typeof entrance

export const signedIn = {
  currentSession,
  keyLogs,
  signedProfiles,
  pendingDevices,
  approval,
  rosters,
  envelopes,
  consents,
  duties,
  publicCode,
  lookups,
  deviceGuestCodes,
  deviceFirstContacts,
  downloads,
  openLinkApprovals,
  stamps,
  deletion,
  verifications,
  machines,
  machineTokens,
  bearer,
} as const satisfies Table
export type SignedIn = typeof signedIn
