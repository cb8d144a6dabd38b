import * as v from 'valibot'
import { Time, id, named } from '../fields.ts'
import { Reachable } from '../reachable.ts'
import type { Routes } from '../route.ts'
import { Device } from './account.ts'
import { namedEntries } from './names.ts'

export const StreamState = v.object({
  state: v.pipe(
    v.picklist(['open', 'closed']),
    v.description(
      '`open`: changes arrive at once. `closed`: the daemon asks for changes every 15 minutes.',
    ),
  ),
  since: Time,
  reason: v.pipe(
    v.nullable(v.string()),
    v.description('Why the stream is closed; null while it is open, and before the first attempt.'),
  ),
})
export type StreamState = v.InferOutput<typeof StreamState>

const Count = v.pipe(v.number(), v.integer())

/** What this device hands over to the account server at the next sync. */
const Waiting = v.object({
  verifications: v.pipe(Count, v.description('Checks of words for the verification log.')),
  stamps: v.pipe(Count, v.description('Stamps without a receipt.')),
  rotations: v.pipe(Count, v.description('Connections that need a new secret.')),
})

/** A device of the account that another one can approve. */
const { name, platform, created_at } = Device.entries
const WaitingDevice = v.object({ id: Device.entries.id, name, platform, created_at })
export type WaitingDevice = v.InferOutput<typeof WaitingDevice>

/** A followed account with other keys than before. */
const ChangedKeys = v.object({ user_id: id('acc_'), ...namedEntries })
export type ChangedKeys = v.InferOutput<typeof ChangedKeys>

/** A connection with two histories. */
const ForkedConnection = v.object({
  id: id('con_'),
  name: v.string(),
  replaced_by: v.nullable(id('con_')),
})
export type ForkedConnection = v.InferOutput<typeof ForkedConnection>

const LastError = v.object({ at: Time, message: v.string() })

const ScheduledBackup = v.object({
  at: v.pipe(v.string(), v.description('The time of the day, in the time zone of the machine.')),
  keep: v.pipe(v.number(), v.description('How many backups are kept.')),
  last_success_at: v.pipe(
    v.nullable(Time),
    v.description('When the data of the last backup that passed its restore test was read.'),
  ),
  fault: v.pipe(
    v.nullable(v.string()),
    v.description(
      'What is wrong: the last backup failed, or there was none for two days. null if nothing is.',
    ),
  ),
})

export const Status = named(
  'Status',
  v.object({
    authenticated: v.boolean(),
    device_registered: v.pipe(
      v.nullable(v.boolean()),
      v.description(
        'Whether this device belongs to the account. false while the device waits for approval, after it was revoked or the account was deleted, and while the account server refuses its session.',
      ),
    ),
    display_name: v.pipe(
      v.nullable(v.string()),
      v.description('The name of the account, as this device knows it; null if there is none.'),
    ),
    global_key_active: v.pipe(
      v.nullable(v.boolean()),
      v.description("Whether the public code's key is active."),
    ),
    environment: v.string(),
    backend: v.pipe(v.string(), v.description('The base URL of the account server.')),
    public_url: v.pipe(v.string(), v.description('The base URL of the links that others open.')),
    reachable: Reachable,
    version: v.string(),
    cached_connections: v.nullable(v.number()),
    last_sync_at: v.nullable(Time),
    backend_reachable: v.pipe(
      v.nullable(v.boolean()),
      v.description(
        'Whether the account server answers; null if it was asked and has not answered within half a second.',
      ),
    ),
    backend_unreachable_since: v.pipe(
      v.nullable(Time),
      v.description(
        'Since when the account server has not answered; null unless `backend_reachable` is false.',
      ),
    ),
    not_working: v.pipe(
      v.array(v.string()),
      v.description(
        'What does not work until the account server answers again; empty while it answers.',
      ),
    ),
    waiting: v.pipe(
      v.nullable(Waiting),
      v.description(
        'What this device hands over at the next sync; null without a device. Nothing else waits: a change that fails is not repeated.',
      ),
    ),
    needs_you: v.pipe(
      v.array(v.string()),
      v.description(
        'What needs a person, besides what the summary says: each as a sentence with the command to run. Includes the notices. It is as of the last sync, and usually empty.',
      ),
    ),
    clock: v.pipe(
      v.nullable(v.picklist(['steady', 'ahead', 'behind', 'unmeasured'])),
      v.description(
        'Whether the clock of this machine is right. `ahead`, `behind`: it moved, so there are no words until it is set, or measured by a sync. `unmeasured`: not measured since the machine started. null without a device.',
      ),
    ),
    last_backup_at: v.pipe(
      v.nullable(Time),
      v.description(
        'When the last complete backup of this device was captured (`countersignd backup`); null if there was none, and without a device.',
      ),
    ),
    scheduled_backup: v.pipe(
      v.nullable(ScheduledBackup),
      v.description(
        'The daily backups that `countersignd backup --schedule` set up; null if none are scheduled, and without a device.',
      ),
    ),
    waiting_devices: v.pipe(
      v.array(WaitingDevice),
      v.description(
        'The devices of the account that wait for approval, as of the last sync, the longest wait first. To decide: `/api/v1/devices/{id}/approval`, or `DELETE /api/v1/devices/{id}`.',
      ),
    ),
    changed_keys: v.pipe(
      v.array(ChangedKeys),
      v.description(
        'The people you follow who have other keys than before, until you confirm these. To decide: `PATCH /api/v1/trust-cards/{id}`.',
      ),
    ),
    forked_connections: v.pipe(
      v.array(ForkedConnection),
      v.description(
        'The connections of which the account server showed two histories, newest first. Their words prove nothing. `replaced_by` is the connection that replaces it, as far as this device knows.',
      ),
    ),
    last_error: v.pipe(
      v.nullable(LastError),
      v.description('The error of the last sync; null if it succeeded, and before the first one.'),
    ),
    next_sync_at: v.pipe(
      v.nullable(Time),
      v.description(
        'When the daemon syncs next by itself, or sooner if something changes; null without a daemon, and while a sync runs.',
      ),
    ),
    api: v.pipe(
      v.nullable(v.string()),
      v.description(
        'The address of this API; null without a daemon, and if it does not listen on TCP.',
      ),
    ),
    socket: v.pipe(
      v.nullable(v.string()),
      v.description('The path of the Unix socket of this API; null if there is none.'),
    ),
    notices: v.pipe(
      v.array(v.string()),
      v.description(
        'Notices that a person should read and settle on this device: another device set a recovery key, or the account has had no signed name since a reset. Usually empty.',
      ),
    ),
    stream: v.pipe(
      v.nullable(StreamState),
      v.description(
        'How changes reach this daemon; null without a daemon, without a device, and for a machine account’s token.',
      ),
    ),
    summary: v.string(),
    keychain: v.pipe(
      v.picklist(['os', 'file']),
      v.description(
        'Where keys and tokens are stored: os is the system keychain, file is the sealed file.',
      ),
    ),
  }),
)

export const status = {
  read: {
    method: 'GET',
    path: '/api/v1/status',
    by: 'daemon',
    reply: Status,
  },
} as const satisfies Routes
