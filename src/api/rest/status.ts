import * as v from 'valibot'
import { Time, named } from '../fields.ts'
import type { Routes } from '../route.ts'

export const Status = named(
  'Status',
  v.object({
    authenticated: v.boolean(),
    device_registered: v.nullable(v.boolean()),
    global_key_active: v.pipe(
      v.nullable(v.boolean()),
      v.description("Whether the public code's key is active."),
    ),
    environment: v.string(),
    backend: v.pipe(v.string(), v.description('Base URL of the account server in use.')),
    version: v.string(),
    cached_connections: v.nullable(v.number()),
    last_sync_at: v.nullable(Time),
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
    summary: 'Read the state of the daemon',
    by: 'daemon',
    reply: Status,
  },
} as const satisfies Routes
