import * as v from 'valibot'
import { Time, named } from '../fields.ts'
import { BACKEND_ERRORS, type Routes } from '../route.ts'

const Count = v.pipe(v.number(), v.integer())

export const SyncReport = named(
  'SyncReport',
  v.object({
    started_at: Time,
    finished_at: Time,
    ok: v.boolean(),
    trigger: v.picklist(['start', 'timer', 'hint', 'request']),
    pulled: v.object({ connections: Count, secrets: Count, guest_codes: Count, rosters: Count }),
    pushed: v.object({ verifications: Count, envelopes: Count }),
    error: v.nullable(v.string()),
  }),
)
export type SyncReport = v.InferOutput<typeof SyncReport>

export const LastSync = named(
  'LastSync',
  v.object({
    last_sync: v.pipe(
      v.nullable(SyncReport),
      v.description('null until the first sync has ended.'),
    ),
  }),
)

export const sync = {
  read: {
    method: 'GET',
    path: '/api/v1/sync',
    by: 'daemon',
    errors: ['no_device', 'not_signed_in'],
    reply: LastSync,
  },
  run: {
    method: 'POST',
    path: '/api/v1/sync',
    by: 'daemon',
    errors: ['no_device', ...BACKEND_ERRORS],
    reply: named('Synced', v.object({ last_sync: SyncReport })),
    repeats: true,
  },
} as const satisfies Routes
