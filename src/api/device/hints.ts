import { EVENT_STREAM } from '../event-stream.ts'
import type { Routes } from '../route.ts'

/** The events of a stream of hints. */
export const HINT_EVENT = { open: 'open', changed: 'changed' } as const

/**
 * How a server process learns of changes: `process` (only it uses the database), `messages` of the
 * database, or `comparison` (each second, because the database delivers no messages).
 */
export const HINT_SOURCES = ['process', 'messages', 'comparison'] as const
export type HintSource = (typeof HINT_SOURCES)[number]

/**
 * A stream that a device keeps open. Its events only say that something changed: the device then
 * asks what changed (`changes.read`) and verifies it as in any other sync. So a dishonest server
 * gains nothing by false hints, and by omitting hints no more than by showing old data.
 */
export const hints = {
  follow: {
    method: 'GET',
    path: '/device/v1/hints',
    by: 'account',
    media: [EVENT_STREAM],
    lasting: true,
    errors: ['backend_unavailable'],
  },
} as const satisfies Routes
