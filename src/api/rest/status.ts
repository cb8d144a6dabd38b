import * as v from 'valibot'
import { Time, named } from '../fields.ts'
import type { Routes } from '../route.ts'

export const Status = named(
  'Status',
  v.object({
    authenticated: v.boolean(),
    device_registered: v.pipe(
      v.nullable(v.boolean()),
      v.description(
        'Whether this device belongs to the account. False while it waits for approval, once it is revoked or the account is deleted, and while the account server refuses its session.',
      ),
    ),
    global_key_active: v.pipe(
      v.nullable(v.boolean()),
      v.description("Whether the public code's key is active."),
    ),
    environment: v.string(),
    backend: v.pipe(v.string(), v.description('Base URL of the account server in use.')),
    version: v.string(),
    cached_connections: v.nullable(v.number()),
    last_sync_at: v.nullable(Time),
    backend_reachable: v.pipe(
      v.nullable(v.boolean()),
      v.description(
        'Whether the account server answers; null while that is not known: it was asked, and has not answered within half a second.',
      ),
    ),
    backend_unreachable_since: v.pipe(
      v.nullable(Time),
      v.description('When it first failed to answer; null unless `backend_reachable` is false.'),
    ),
    not_working: v.pipe(
      v.array(v.string()),
      v.description('What fails until the account server answers again; empty while it does.'),
    ),
    notices: v.pipe(
      v.array(v.string()),
      v.description(
        'What a person should look at on this device, until it is settled: another device set a recovery key, or the account has no signed name since a reset. Mostly empty.',
      ),
    ),
    summary: v.string(),
    keychain: v.pipe(
      v.picklist(['os', 'file']),
      v.description('Where keys and tokens are held: the system keychain or the sealed file.'),
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
