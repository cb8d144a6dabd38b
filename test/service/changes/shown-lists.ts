/** What the lists of an account show, to compare it with what the server lists as changed. */
import assert from 'node:assert/strict'
import { every } from '../../../src/api/cursor.ts'
import { changedParts, SYNC_LISTS, type SyncPart } from '../../../src/api/device/changes.ts'
import type { Account } from '../../../src/api/port.ts'
import { AppError } from '../../../src/errors.ts'

type Reader = { readonly account: Account }
type List = (typeof SYNC_LISTS)[number]

/** Returns what an organisation shows to its member; null for an account without one. */
async function organisationOf({ account }: Reader): Promise<unknown> {
  const { organisations } = await account.context.read({})
  try {
    const members = await every((page) => account.orgMembers.list(page))
    const groups = await every((page) => account.orgGroups.list(page))
    // The names and mailboxes of other accounts are not part of the list.
    const shown = members.map((one) => ({ ...one, display_name: null, email: null }))
    return { organisations, members: shown, groups }
  } catch (error) {
    if (error instanceof AppError && error.code === 'no_active_organisation')
      return { organisations }
    throw error
  }
}

/** Returns everything that the lists of an account show. */
export async function shownTo(reader: Reader): Promise<Readonly<Record<List, unknown>>> {
  const { account } = reader
  const devices = await every((page) => account.devices.list(page))
  const exports = await every((page) => account.exports.list(page))
  return {
    notifications: await every((page) => account.notifications.list(page)),
    invitations: await account.invitations.list({}),
    open_link_requests: await every((page) => account.openLinkRequests.list(page)),
    exports: exports.map((one) => ({ ...one, progress: 0 })),
    organisations: await organisationOf(reader),
    devices: devices.map((one) => ({ ...one, last_seen_at: null })),
  }
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** Asks what changed since a place. */
async function changedSince({ account }: Reader, since: string): Promise<ReadonlySet<SyncPart>> {
  return changedParts(await account.changes.read({ since }))
}

/**
 * Returns the lists that the server names as changed for each person after `change`, which must
 * include each list that shows something else.
 * @param gone people with accounts that `change` deletes
 */
export async function listsChangedBy(
  people: readonly Reader[],
  change: () => Promise<unknown>,
  gone: readonly Reader[] = [],
): Promise<readonly (readonly List[])[]> {
  const before = await Promise.all(people.map(shownTo))
  const places = await Promise.all(people.map(({ account }) => account.changes.read({})))
  await change()
  return Promise.all(
    people.map(async (one, i) => {
      if (gone.includes(one)) return []
      const changed = await changedSince(one, places[i]!.since!)
      const after = await shownTo(one)
      for (const list of SYNC_LISTS)
        assert(changed.has(list) || isSame(before[i]![list], after[list]), `${list} changed`)
      return SYNC_LISTS.filter((list) => changed.has(list))
    }),
  )
}
