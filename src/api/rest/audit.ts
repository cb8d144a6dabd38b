import * as v from 'valibot'
import { Page, Sha256Hex, Time, listOf, named } from '../fields.ts'
import type { Routes } from '../route.ts'

const Count = v.pipe(v.number(), v.integer())

export const AuditEntry = named(
  'AuditEntry',
  v.object({
    line: v.pipe(Count, v.description('The number of the line, over all files and all runs.')),
    at: Time,
    request_id: v.pipe(v.nullable(v.string()), v.description('The `X-Request-Id` of the answer.')),
    peer_uid: v.pipe(
      v.nullable(v.number()),
      v.description('The user that sent the request; null if the system does not report it.'),
    ),
    channel: v.pipe(
      v.nullable(v.picklist(['tcp', 'socket'])),
      v.description(
        'How the request arrived. `socket` is the Unix socket; the system does not report its users. null: the command line without a daemon, the daemon itself, and lines of older versions.',
      ),
    ),
    token: v.pipe(
      v.nullable(v.string()),
      v.description(
        'The id of the token, `command line`, or `machine …` for a machine account; null if no caller was recognised.',
      ),
    ),
    route: v.pipe(
      v.nullable(v.string()),
      v.description('Method and path as in this document; null without a route.'),
    ),
    status: v.nullable(v.number()),
    outcome: v.pipe(
      v.string(),
      v.description(
        '`done`, or the code of the error. `started` and `stopped` are of the daemon itself.',
      ),
    ),
    created: v.pipe(v.nullable(v.string()), v.description('The id of the created resource.')),
    unlisted: v.pipe(
      Count,
      v.description('Rejected requests of unrecognised callers before this line, without a line.'),
    ),
    lost: v.pipe(Count, v.description('Lines before this one that a full disk did not accept.')),
  }),
)
export type AuditEntry = v.InferOutput<typeof AuditEntry>

export const AuditChain = named(
  'AuditChain',
  v.object({
    ok: v.pipe(
      v.boolean(),
      v.description('true: each line follows from the previous one, and the log contains `head`.'),
    ),
    lines: Count,
    before: v.pipe(Count, v.description('Lines in older files, which were deleted.')),
    cut: v.pipe(Count, v.description('Lines that a crash truncated.')),
    from: v.nullable(Time),
    to: v.nullable(Time),
    head: v.pipe(
      Sha256Hex,
      v.description('The hash of the last line. Keep it outside this machine, for a later check.'),
    ),
    knows_head: v.pipe(
      v.nullable(v.boolean()),
      v.description('Whether the log contains the given head; null if none was given.'),
    ),
    fault: v.pipe(
      v.nullable(v.object({ file: v.string(), row: Count, what: v.string() })),
      v.description('The first line that was changed, removed or inserted.'),
    ),
  }),
)
export type AuditChain = v.InferOutput<typeof AuditChain>

export const audit = {
  list: {
    method: 'GET',
    path: '/api/v1/audit',
    by: 'daemon',
    errors: ['no_device'],
    query: Page,
    reply: listOf(AuditEntry),
  },
  chain: {
    method: 'GET',
    path: '/api/v1/audit/chain',
    by: 'daemon',
    errors: ['no_device'],
    query: v.strictObject({
      head: v.optional(v.pipe(Sha256Hex, v.description('A head that an earlier check returned.'))),
    }),
    reply: AuditChain,
  },
} as const satisfies Routes
