import * as v from 'valibot'
import { EVENT_STREAM } from '../event-stream.ts'
import type { Routes } from '../route.ts'

/** The longest time that a request waits for events, in seconds. */
const LONGEST_WAIT = 60

export const events = {
  follow: {
    method: 'GET',
    path: '/api/v1/events',
    by: 'daemon',
    errors: ['insufficient_scope', 'no_device', 'rate_limited'],
    query: v.strictObject({
      since: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(40),
          v.description(
            'Begin after this event (its `id`), or at this time (RFC 3339). Without it, begin with the next event. The header `Last-Event-ID` takes precedence.',
          ),
        ),
      ),
      types: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(1000),
          v.description(
            'Only these types, separated by commas. `connection.*` means all types that begin with `connection.`.',
          ),
        ),
      ),
      wait: v.optional(
        v.pipe(
          v.number(),
          v.integer(),
          v.minValue(0),
          v.maxValue(LONGEST_WAIT),
          v.description(
            `Answer with JSON: at once if there are events, and otherwise after this number of seconds at most (0 to ${LONGEST_WAIT}).`,
          ),
        ),
      ),
    }),
    media: [EVENT_STREAM, 'application/json'],
    lasting: true,
  },
} as const satisfies Routes
