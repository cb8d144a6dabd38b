import { pageOf, readCursor } from '../api/cursor.ts'
import type { LogEntry } from '../api/rest/verify.ts'
import { isId } from '../crypto/id.ts'
import type { Handlers } from './context.ts'

export const verify: Handlers['verify'] = {
  words: async ({ body }, { device, home, caller }) => {
    if (device !== null) return device.verifier.verify(body.words, caller?.token ?? null)
    const { verifyNothing } = await import('../device/verifier.ts')
    return verifyNothing(body.words, home.now())
  },
}

export const verificationLog: Handlers['verificationLog'] = {
  /** The account's entries, and those of this device that it has not been told yet. */
  list: async (page, { account, device }) => {
    const theirs = await account.verificationLog.list(page)
    if (device === null) return theirs
    const before = readCursor(page.cursor, (id) => isId('ver_', id))
    const ours = device.state.verifications.page(page.limit + 1, before)
    const entries = new Map<string, LogEntry>()
    for (const entry of [...theirs.items, ...ours]) entries.set(entry.id, entry)
    const sorted = [...entries.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1))
    const merged = pageOf(sorted, page)
    // The account may have more than it sent while everything here fits on this page.
    return {
      items: merged.items,
      next_cursor: merged.next_cursor ?? theirs.next_cursor,
    }
  },
}
