import * as v from 'valibot'
import { Time } from '../fields.ts'
import type { Routes } from '../route.ts'

/** The parts of an account that a sync verifies or works on. */
const CHECKED_PARTS = [
  'key_log',
  'connections',
  'guest_codes',
  'duties',
  'trust_cards',
  'public_code',
] as const

/** The lists of an account that a device only shows. */
export const SYNC_LISTS = [
  'invitations',
  'open_link_requests',
  'notifications',
  'exports',
  'organisations',
  'devices',
] as const

export type SyncList = (typeof SYNC_LISTS)[number]

/** The parts of an account that a sync may read, and that change separately. */
export const SYNC_PARTS = [...CHECKED_PARTS, ...SYNC_LISTS] as const
export type SyncPart = (typeof SYNC_PARTS)[number]

/** Returns what an answer lists as changed. */
export const changedParts = ({
  changed,
  lists = SYNC_LISTS,
}: {
  readonly changed: readonly SyncPart[]
  readonly lists?: readonly string[] | undefined
}): ReadonlySet<SyncPart> =>
  new Set([...changed, ...SYNC_LISTS.filter((list) => lists.includes(list))])

/** Returns changed parts in the form of an answer. */
export const partsInAnswer = (
  parts: readonly SyncPart[],
): {
  readonly changed: (typeof CHECKED_PARTS)[number][]
  readonly lists: SyncList[]
} => ({
  changed: CHECKED_PARTS.filter((part) => parts.includes(part)),
  lists: SYNC_LISTS.filter((part) => parts.includes(part)),
})

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
        v.array(v.picklist(CHECKED_PARTS)),
        v.description(
          'The parts that may have changed. `key_log`: the key log and the signed name of the account. `connections`: the list of connections, with everything that changes their `updated_at`. `duties`: the list may have new items.',
        ),
      ),
      // A field of its own with any names, because a device rejects an answer with a part in
      // `changed` that it does not support.
      lists: v.optional(
        v.pipe(
          v.array(v.string()),
          v.description(
            'The lists that may have changed; ignore unknown names. If it is absent, any list may have changed. `invitations`: sent and received. `open_link_requests`. `notifications`. `exports`: without their progress. `organisations`: those of the account, with their members, invited mailboxes and groups. `devices`: those of the account, also those that wait for approval.',
          ),
        ),
      ),
    }),
  },
} as const satisfies Routes
