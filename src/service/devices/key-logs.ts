/**
 * Reads and appends to key logs. Every signed-in caller can read all key logs, because accounts
 * verify each other's logs. The server returns the entries unchanged.
 */
import type { Service } from '../../api/port.ts'
import { departedLogFor } from '../accounts/deleted-accounts.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { keyLogPage, fittingEntries } from '../db/log-pages.ts'
import { sealKeysOf, profilesOf } from '../accounts/key-log-rows.ts'

export const keyLogs = (ground: ServiceContext): Service['keyLogs'] => ({
  read: async ({ account, from = 0 }, session) => {
    const { db, logPages } = ground
    requireId('acc_', account, 'account')
    const page = await keyLogPage(db, logPages, { account, from })
    if (page.seq >= 0) {
      const seal_keys = (await sealKeysOf(db, account)).map((one) => one.seal_key)
      const profile = (await profilesOf(db, [account])).get(account)
      return { ...page, seal_keys, ...(profile === undefined ? {} : { profile }) }
    }
    const stored = await departedLogFor(db, session.account, account)
    if (stored.length === 0) throw notFound('account')
    const entries = fittingEntries(stored.slice(from), logPages)
    return { entries, seq: stored.length - 1, seal_keys: [] }
  },

  append: async (input, session) => {
    const { appendKeyLogEntry } = await import('./key-log-entries.ts')
    return appendKeyLogEntry(ground)(input, session)
  },
})
