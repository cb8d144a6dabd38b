/**
 * *device*: the routes of an account server for daemons.
 *
 * `entrance` contains the routes for a device without a session, and `signedIn` contains all
 * others. Groups with only one row are defined here.
 */
import * as v from 'valibot'
import { id, Jws, name, Time } from '../fields.ts'
import { OpenLinkRequest } from '../rest/open-links.ts'
import { VerificationEntry } from '../rest/verify.ts'
import type { Routes, Table } from '../route.ts'
import { ServedStampBody } from '../stamp-file.ts'
import { approval, pendingDevices } from './approval.ts'
import { changes } from './changes.ts'
import { downloads } from './downloads.ts'
import { currentSession, enrolment, session, signIns } from './enrolment.ts'
import { deviceFirstContacts } from './first-contacts.ts'
import { deviceGuestCodes, lookups, publicCode } from './guest-codes.ts'
import { HINT_SOURCES, hints } from './hints.ts'
import { listedDevices } from './listed-devices.ts'
import {
  consents,
  duties,
  envelopes,
  followedKeyLogs,
  keyLogs,
  rosters,
  signedProfiles,
} from './logs.ts'
import { bearer, machines, machineTokens, oauth } from './machines.ts'

export const clock = {
  read: {
    method: 'GET',
    path: '/device/v1/clock',
    by: 'account',
    reply: v.object({
      now: Time,
      public_url: v.pipe(
        v.string(),
        v.description('The beginning of all links, without a slash at the end.'),
      ),
      hints_by: v.optional(
        v.pipe(
          v.nullable(v.picklist(HINT_SOURCES)),
          v.description(
            'How this server process learns of changes: only it uses the database (`process`), by `messages` of the database, or by `comparison` each second, because the database delivers no messages. null before the first stream of hints.',
          ),
        ),
      ),
    }),
  },
} as const satisfies Routes

/** A device reads this before it signs a deletion, which cannot be undone. */
const deletion = {
  read: {
    method: 'GET',
    path: '/device/v1/deletion',
    by: 'account',
    errors: ['conflict', 'invalid_state'],
    reply: v.object({ account: id('acc_') }),
  },
} as const satisfies Routes

const openLinkApprovals = {
  read: {
    method: 'GET',
    path: '/device/v1/open-link-requests/{id}',
    by: 'account',
    errors: ['invalid_state'],
    reply: OpenLinkRequest,
  },
} as const satisfies Routes

const stamps = {
  create: {
    method: 'POST',
    path: '/device/v1/stamps',
    by: 'account',
    body: v.strictObject({ stamp: Jws }),
    reply: v.object({ receipt: Jws }),
    status: 201,
  },
} as const satisfies Routes

const servedStamps = {
  read: {
    method: 'GET',
    path: '/device/v1/stamps/{id}',
    by: 'account',
    reply: ServedStampBody,
  },
} as const satisfies Routes

const verifications = {
  push: {
    method: 'POST',
    path: '/device/v1/verifications',
    by: 'account',
    body: v.strictObject({ items: v.pipe(v.array(VerificationEntry), v.maxLength(500)) }),
    reply: v.object({ accepted: v.number() }),
  },
} as const satisfies Routes

const webhookNotices = {
  create: {
    method: 'POST',
    path: '/device/v1/webhook-notices',
    by: 'account',
    body: v.strictObject({
      webhook_id: id('whk_'),
      event_id: v.pipe(
        id('evt_'),
        v.description(
          'The event of the giving-up on the device. The same id causes only one notification.',
        ),
      ),
      name: v.pipe(
        name(255),
        v.description('The name of the webhook, or else the host of its URL.'),
      ),
      failing_since: v.pipe(Time, v.description('When the first attempt that failed was made.')),
    }),
    status: 204,
  },
} as const satisfies Routes

export const entrance = { signIns, enrolment, session, clock, oauth } as const satisfies Table
export type Entrance = typeof entrance

export const signedIn = {
  currentSession,
  changes,
  hints,
  followedKeyLogs,
  keyLogs,
  signedProfiles,
  listedDevices,
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
  servedStamps,
  deletion,
  verifications,
  machines,
  machineTokens,
  bearer,
  webhookNotices,
} as const satisfies Table
export type SignedIn = typeof signedIn
