import * as v from 'valibot'
import { Envelope, Jws, LogEntry, Page, SealKey, email, id, listOf } from '../fields.ts'
import type { Routes } from '../route.ts'
import { Connection, ConnectionName, Invitees } from '../rest/connections.ts'
import { Invitation } from '../rest/invitations.ts'

const Count = v.pipe(v.number(), v.integer(), v.minValue(0))
const Seq = Count
const Hash = v.pipe(v.string(), v.regex(/^[\w-]{43}$/))
const Head = v.pipe(Hash, v.description('The hash of the newest entry, in base64url.'))

/** The query that selects where a page of a log begins. */
const Pages = v.strictObject({
  from: v.optional(
    v.pipe(
      Count,
      v.description(
        'The seq of the first entry to return; 0 if absent. Past the end, no entries are returned.',
      ),
    ),
  ),
})
/** The seq of a log's newest entry. An answer can contain only a part of the log. */
const Newest = v.pipe(
  Seq,
  v.description(
    'The seq of the newest entry. If `entries` ends before it, there are more entries to read.',
  ),
)

/** A signed profile, which no account server can create. */
const Profile = v.pipe(Jws, v.description('The signed profile of the account.'))

export const signedProfiles = {
  give: {
    method: 'POST',
    path: '/device/v1/profiles',
    by: 'account',
    body: v.strictObject({ profile: Profile }),
    status: 204,
    repeats: true,
  },
} as const satisfies Routes

export const keyLogs = {
  read: {
    method: 'GET',
    path: '/device/v1/key-logs/{account}',
    by: 'account',
    query: Pages,
    reply: v.object({
      entries: v.array(Jws),
      seq: Newest,
      seal_keys: v.pipe(
        v.array(SealKey),
        v.description('The sealing keys. The key log names each of them by its hash.'),
      ),
      profile: v.optional(Profile),
    }),
  },
  append: {
    method: 'POST',
    path: '/device/v1/key-logs',
    by: 'account',
    body: v.strictObject({
      entry: LogEntry,
      seal_key: v.optional(
        v.pipe(SealKey, v.description('The sealing key that a `renew` entry names.')),
      ),
    }),
    reply: v.object({ seq: Seq, head: Head }),
    status: 201,
  },
} as const satisfies Routes

/** A device compares these with the logs that it stored, and fetches only those that differ. */
export const followedKeyLogs = {
  list: {
    method: 'GET',
    path: '/device/v1/followed-key-logs',
    by: 'account',
    query: Page,
    reply: listOf(
      v.object({
        account: id('acc_'),
        seq: Seq,
        head: Head,
        profile: v.pipe(
          v.nullable(Hash),
          v.description('The SHA-256 of the signed profile, in base64url; null if there is none.'),
        ),
      }),
    ),
  },
} as const satisfies Routes

/** Proof of a fork: two entries at the same place in a roster. */
const Fork = v.pipe(
  v.tuple([LogEntry, LogEntry]),
  v.description('Two entries with the same seq in the roster of a forked connection.'),
)

/** The maximum number of envelopes in one request. Send more envelopes in additional requests. */
export const MOST_ENVELOPES = 1500

export const rosters = {
  open: {
    method: 'POST',
    path: '/device/v1/rosters',
    by: 'account',
    errors: ['not_found', 'invalid_state'],
    // One envelope has 2 kB.
    limit: 4 * 1024 * 1024,
    body: v.strictObject({
      connection: id('con_'),
      name: ConnectionName,
      entry: LogEntry,
      envelopes: v.pipe(v.array(Envelope), v.minLength(1), v.maxLength(MOST_ENVELOPES)),
      invite: Invitees,
      fork: v.optional(
        v.pipe(
          Fork,
          v.description('If the entry replaces another connection, the fork of that connection.'),
        ),
      ),
      preset_id: v.optional(
        v.pipe(
          v.nullable(id('pre_')),
          v.description('If left out, the default preset is used; null uses no preset.'),
        ),
      ),
      open_link_request: v.optional(
        v.pipe(
          v.nullable(id('req_')),
          v.description(
            'The request to connect that this call approves. The requester is then invited.',
          ),
        ),
      ),
    }),
    reply: Connection,
    status: 201,
  },
  read: {
    method: 'GET',
    path: '/device/v1/rosters/{connection}',
    by: 'account',
    query: Pages,
    reply: v.object({
      entries: v.array(LogEntry),
      seq: Newest,
      fork: v.optional(
        v.pipe(
          Fork,
          v.description(
            'Only with the newest entry: the fork of the connection that this one replaces, if its opener gave it.',
          ),
        ),
      ),
      key_logs: v.pipe(
        v.array(
          v.object({
            account: id('acc_'),
            seq: Seq,
            departed_epoch: v.optional(
              v.pipe(
                Count,
                v.description('The epoch of the connection when the account was deleted.'),
              ),
            ),
            profile: v.optional(Profile),
          }),
        ),
        v.description(
          'Only with the newest entry: for each account that the entries name, the seq of its newest key log entry. Otherwise empty.',
        ),
      ),
    }),
  },
  append: {
    method: 'POST',
    path: '/device/v1/rosters/{connection}',
    by: 'account',
    errors: ['invalid_state'],
    limit: 4 * 1024 * 1024,
    body: v.strictObject({
      entry: LogEntry,
      envelopes: v.pipe(v.array(Envelope), v.maxLength(MOST_ENVELOPES)),
    }),
    reply: v.object({ seq: Seq, head: Head }),
    status: 201,
  },
} as const satisfies Routes

export const envelopes = {
  read: {
    method: 'GET',
    path: '/device/v1/envelopes/{connection}',
    by: 'account',
    reply: v.object({ envelopes: v.array(Envelope) }),
  },
  add: {
    method: 'POST',
    path: '/device/v1/envelopes/{connection}',
    by: 'account',
    // Repeating this request is harmless: if a device already has an envelope, the first one stays.
    // The key is ignored because one operation can need several requests.
    repeats: true,
    limit: 4 * 1024 * 1024,
    body: v.strictObject({
      envelopes: v.pipe(v.array(Envelope), v.minLength(1), v.maxLength(MOST_ENVELOPES)),
    }),
    reply: v.object({ stored: Count }),
  },
  delete: {
    method: 'DELETE',
    path: '/device/v1/envelopes/{connection}',
    by: 'account',
    query: v.strictObject({ epoch: Count }),
    status: 204,
  },
} as const satisfies Routes

const Consent = v.pipe(
  Jws,
  v.description('The consent, signed by a device of the invited account.'),
)

export const consents = {
  wanted: {
    method: 'GET',
    path: '/device/v1/consents/{invitation}',
    by: 'account',
    errors: ['invalid_state'],
    reply: v.object({
      connection: id('con_'),
      inviter: id('acc_'),
      roster_head: v.pipe(
        Head,
        v.description('The hash of the newest roster entry, in base64url.'),
      ),
    }),
  },
  give: {
    method: 'POST',
    path: '/device/v1/consents',
    by: 'account',
    errors: ['not_found', 'invalid_state'],
    body: v.strictObject({ invitation: id('inv_'), consent: Consent }),
    reply: Invitation,
  },
} as const satisfies Routes

/**
 * The operations that the account server proposes to this device.
 *
 * They are only hints. Before the device signs or seals anything, it checks each proposal against
 * verified rosters and key logs.
 */
export const duties = {
  read: {
    method: 'GET',
    path: '/device/v1/duties',
    by: 'account',
    reply: v.object({
      joins: v.pipe(
        v.array(
          v.object({
            connection: id('con_'),
            account: id('acc_'),
            email: v.pipe(
              v.nullable(email),
              v.description('The invited email address; null if an account was invited.'),
            ),
            consent: Consent,
          }),
        ),
        v.description(
          'Approved invitations that the calling account sent, to connections that it owns.',
        ),
      ),
      unsealed: v.pipe(
        v.array(v.object({ connection: id('con_'), devices: v.array(id('dev_')) })),
        v.description('Devices of current members that have no envelope of the current epoch.'),
      ),
      replacements: v.optional(
        v.pipe(
          v.array(
            v.object({
              invitation: id('inv_'),
              entry: v.pipe(LogEntry, v.description('The first entry of the new connection.')),
              fork: v.nullable(Fork),
            }),
          ),
          v.description(
            'Pending invitations to connections that replace a connection of the calling account and the inviter, newest first. Absent if there are none.',
          ),
        ),
      ),
    }),
  },
} as const satisfies Routes
