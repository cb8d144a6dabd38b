import * as v from 'valibot'
import { Time } from '../fields.ts'
import type { Routes } from '../route.ts'

/** The parts of an account that a sync reads, and that change separately. */
export const SYNC_PARTS = [
  'key_log',
  'connections',
  'guest_codes',
  'duties',
  'trust_cards',
  'public_code',
] as const
export type SyncPart = (typeof SYNC_PARTS)[number]

/** The longest `since` that a device sends, in characters. */
const LONGEST_SINCE = 200

/** A device reads this at the beginning of a sync, and then only the parts that changed. */
export const changes = {
  read: {
    method: 'GET',
    path: '/device/v1/changes',
    by: 'account',
    query: v.strictObject({
      since: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(LONGEST_SINCE),
          v.description(
            'The `since` of an earlier answer. If it is absent or unknown, all parts count as changed.',
          ),
        ),
      ),
    }),
    reply: v.object({
      now: v.pipe(Time, v.description('The server’s time.')),
      since: v.pipe(
        v.nullable(v.pipe(v.string(), v.maxLength(LONGEST_SINCE))),
        v.description(
          'Names the state of all parts before this answer, for the next call; null if the server cannot name it yet.',
        ),
      ),
      changed: v.pipe(
        v.array(v.picklist(SYNC_PARTS)),
        v.description(
          'The parts that may have changed. `key_log`: the key log and the signed name of the account. `connections`: the list of connections, with everything that changes their `updated_at`. `duties`: the list may have new items.',
        ),
      ),
    }),
  },
} as const satisfies Routes
