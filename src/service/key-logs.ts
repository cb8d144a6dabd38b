/** Key logs are public to whoever is signed in: everybody checks everybody's. They are passed on as they were received. */
import type { Kysely } from 'kysely'
import type { Service } from '../api/port.ts'
import { demandId, notFound } from './faults.ts'
import type { Ground } from './ground.ts'
import type { Schema } from './schema.ts'

/** The entries of an account's log, in order, with the time each came. Throws AppError `not_found`. */
export async function readKeyLog(db: Kysely<Schema>, account: string) {
  demandId('acc_', account, 'account')
  const rows = await db
    .selectFrom('key_log_entries')
    .select(['entry', 'stored_at'])
    .where('account_id', '=', account)
    .orderBy('seq')
    .execute()
  if (rows.length === 0) throw notFound('account')
  return { entries: rows.map((row) => row.entry), storedAt: rows.map((row) => row.stored_at) }
}

export const keyLogs = ({ db }: Ground): Service['keyLogs'] => ({
  read: async ({ account }) => ({ entries: (await readKeyLog(db, account)).entries }),
})
