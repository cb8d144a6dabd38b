/**
 * Key logs are public to whoever is signed in: everybody checks everybody's. They are passed on as they were received.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Service } from '../api/port.ts'
import { departedLogFor } from './departed.ts'
import { demandId, notFound } from './faults.ts'
import type { Ground } from './ground.ts'
import { keyLogPage, pageOf } from './log-pages.ts'
import type { Schema } from './schema.ts'

/** The entries of an account's log, in order, with the time each came; none where there is no such account. */
export async function entriesOf(db: Kysely<Schema>, account: string) {
  const rows = await db
    .selectFrom('key_log_entries')
    .select(['entry', 'stored_at'])
    .where('account_id', '=', account)
    .orderBy('seq')
    .execute()
  return { entries: rows.map((row) => row.entry), storedAt: rows.map((row) => row.stored_at) }
}

/** The same; throws AppError `not_found` where there is none. */
export async function readKeyLog(db: Kysely<Schema>, account: string) {
  demandId('acc_', account, 'account')
  const log = await entriesOf(db, account)
  if (log.entries.length === 0) throw notFound('account')
  return log
}

/** The newest sealing keys of the devices that the log of an account has as active. */
export const sealKeysOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('devices')
    .select(['id', 'seal_key'])
    .where('account_id', '=', account)
    .where('keys', 'is', null)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute()

/** The signed profiles of accounts, by account id, of those that have one. */
export async function profilesOf(
  db: Kysely<Schema>,
  accounts: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('accounts')
    .select(['id', 'profile'])
    .where('id', 'in', accounts)
    .where('profile', 'is not', null)
    .$narrowType<{ profile: string }>()
    .execute()
  return new Map(rows.map(({ id, profile }) => [id, profile]))
}

/** Keep others from the log of an account, should it exist, until the transaction ends. */
export async function holdKeyLog(trx: Transaction<Schema>, account: string): Promise<void> {
  // Changes nothing. It is how both engines hold a row.
  await trx
    .updateTable('accounts')
    .set((of) => ({ display_name: of.ref('display_name') }))
    .where('id', '=', account)
    .execute()
}

export const keyLogs = (ground: Ground): Service['keyLogs'] => ({
  read: async ({ account, from = 0 }, session) => {
    const { db, logPages } = ground
    demandId('acc_', account, 'account')
    const page = await keyLogPage(db, logPages, { account, from })
    if (page.seq >= 0) {
      const seal_keys = (await sealKeysOf(db, account)).map((one) => one.seal_key)
      const profile = (await profilesOf(db, [account])).get(account)
      return { ...page, seal_keys, ...(profile === undefined ? {} : { profile }) }
    }
    const kept = await departedLogFor(db, session.account, account)
    if (kept.length === 0) throw notFound('account')
    const entries = pageOf(kept.slice(from), logPages)
    return { entries, seq: kept.length - 1, seal_keys: [] }
  },

  append: async (input, session) => {
    const { appendTo } = await import('./key-log-entries.ts')
    return appendTo(ground)(input, session)
  },
})
