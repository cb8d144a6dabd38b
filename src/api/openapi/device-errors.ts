/** The errors of an account server's routes for devices, and an example of each. */
import type { Entrance, SignedIn } from '../device/index.ts'
import type { Rest } from '../rest/index.ts'
import { isOnce } from '../route.ts'
import type { ErrorCode } from '../../errors.ts'
import type { AccountGroups } from './account-rows.ts'
import {
  ANYWHERE,
  BODIES,
  type ErrorBodies,
  type RowPlace,
  byStatus,
  examplesFrom,
} from './errors.ts'

/** The errors that any request to an account server can get. */
const ANY = [...ANYWHERE, 'backend_unavailable'] as const

type Device = SignedIn & Entrance & Pick<Rest, AccountGroups>

/** Codes that follow from no field of the row. */
const OWN: {
  readonly [G in keyof Device]?: { readonly [R in keyof Device[G]]?: readonly ErrorCode[] }
} = {
  signIns: { create: ['rate_limited'], read: ['invalid_token', 'forbidden', 'rate_limited'] },
  enrolment: {
    create: ['conflict', 'invalid_token', 'forbidden', 'rate_limited'],
    further: ['conflict', 'invalid_token', 'forbidden', 'invalid_state', 'rate_limited'],
  },
  session: { renew: ['invalid_token', 'rate_limited'] },
  keyLogs: { append: ['conflict'] },
  pendingDevices: { answer: ['conflict'] },
  approval: {
    begin: ['invalid_state'],
    read: ['not_found'],
    reveal: ['conflict', 'not_found'],
    create: ['conflict', 'invalid_state'],
  },
  rosters: {
    open: ['conflict', 'invalid_state', 'not_found'],
    append: ['conflict', 'invalid_state'],
  },
  envelopes: { add: ['conflict'] },
  consents: { wanted: ['invalid_state'], give: ['invalid_state', 'not_found'] },
  publicCode: { read: ['not_found'] },
  deviceGuestCodes: { create: ['conflict', 'not_found'], send: ['invalid_state'] },
  deviceFirstContacts: {
    open: ['invalid_state', 'not_found'],
    send: ['conflict', 'invalid_state'],
  },
  downloads: { create: ['export_not_ready', 'not_found'] },
  openLinkApprovals: { read: ['invalid_state'] },
  stamps: { create: ['conflict'] },
  deletion: { read: ['conflict'] },
  machines: { create: ['conflict', 'no_active_organisation', 'not_found'] },
  machineTokens: { list: ['forbidden'], create: ['forbidden'], delete: ['forbidden'] },
  bearer: { read: ['forbidden'] },
  connections: { delete: ['no_device'] },
  members: {
    add: ['invalid_state'],
    remove: ['no_device'],
  },
  invitations: { decline: ['invalid_state'], withdraw: ['invalid_state'] },
  devices: { delete: ['no_device'] },
  preferences: { update: ['invalid_state'] },
  trustCards: { create: ['not_found', 'invalid_state'], update: ['no_device'] },
  account: { delete: ['invalid_state', 'not_found'] },
}

function specific({ group, name, route, need }: RowPlace): ErrorCode[] {
  const { method, path } = route
  const own = (OWN as Readonly<Record<string, Readonly<Record<string, readonly ErrorCode[]>>>>)[
    group
  ]
  const rules: (readonly [isSo: boolean, ...codes: ErrorCode[]])[] = [
    [need !== 'none', 'unauthorized', 'invalid_token', 'rate_limited'],
    [need !== 'none' && need !== 'read', 'forbidden'],
    [need === 'write' || need === 'full', 'insufficient_scope'],
    [path.includes('{'), 'not_found'],
    [true, 'validation_failed'],
    [method !== 'GET', 'invalid_json', 'payload_too_large', 'unsupported_media_type'],
    [need !== 'none' && isOnce(route), 'idempotency_mismatch', 'in_progress'],
    [true, ...(own?.[name] ?? [])],
  ]
  return rules.flatMap(([isSo, ...codes]) => (isSo ? codes : []))
}

/** Returns the codes that a row of an account server may answer to a device, by status. */
export const deviceCodesOf = (place: RowPlace): Map<string, ErrorCode[]> =>
  byStatus(specific(place), ANY)

/**
 * The example bodies of a daemon, with those of errors that an account server words differently.
 */
const DEVICE_BODIES: ErrorBodies = {
  ...BODIES,
  unauthorized: {
    message:
      'This route needs the session of a device ("Authorization: DPoP <token>" with its proof) or a machine account’s token ("Authorization: Bearer <token>").',
  },
  invalid_token: {
    message: 'This session has ended, or is another key’s: renew it.',
  },
  forbidden: { message: 'Only the session of an approved device may ask this.' },
  host_not_allowed: { message: 'This server answers to Host countersign.example only.' },
  insufficient_scope: {
    message:
      "This token's scope is read; POST /device/v1/lookups requires write or full. Use a token with that scope.",
    required_scope: 'write or full',
  },
  conflict: { message: 'Another entry came first: read the key log and decide anew.' },
  invalid_state: { message: 'This device is approved already.', state: 'active' },
  rate_limited: {
    message:
      'Too many requests at once: the limit is 16 in flight. Wait for the answers, then try again.',
  },
  validation_failed: {
    message: 'The request is not valid (entry): bad_signature: the signature does not verify',
    issues: [{ path: 'entry', message: 'bad_signature: the signature does not verify' }],
  },
  backend_unavailable: { message: 'The database is out of reach. Try again later.' },
}

export const deviceErrorExamples = examplesFrom(DEVICE_BODIES)
