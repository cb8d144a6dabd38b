/** Rows of rosters, and the key logs that verify them. */
import type { Kysely } from 'kysely'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import type { KeyLogs, Roster } from '../../crypto/logs/roster.ts'
import { departedOf } from './deleted-members.ts'
import { departedLogs } from '../accounts/deleted-accounts.ts'
import type { Schema } from '../db/schema.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'

/** Returns the entries of a roster, in order; an empty list if the connection does not exist. */
export async function rosterEntries(db: Kysely<Schema>, connection: string): Promise<string[]> {
  const rows = await db
    .selectFrom('roster_entries')
    .select('entry')
    .where('connection_id', '=', connection)
    .orderBy('seq')
    .execute()
  return rows.map(({ entry }) => entry)
}

/** Returns the newest entry of the roster of a connection that exists. */
export async function newestRosterEntry(db: Kysely<Schema>, connection: string): Promise<string> {
  const { entry } = await db
    .selectFrom('roster_entries')
    .select('entry')
    .where('connection_id', '=', connection)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  return entry
}

/**
 * Returns the entries of accounts' key logs, each in order. It includes deleted accounts that the
 * roster of this connection names, and omits accounts without a key log.
 */
export async function logEntries(
  db: Kysely<Schema>,
  connection: string,
  accounts: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom('key_log_entries')
    .select(['account_id', 'entry'])
    .where('account_id', 'in', accounts)
    .orderBy('account_id')
    .orderBy('seq')
    .execute()
  const logs = new Map<string, string[]>()
  for (const [account, of] of Map.groupBy(rows, ({ account_id }) => account_id))
    logs.set(
      account,
      of.map(({ entry }) => entry),
    )
  const missing = accounts.filter((account) => !logs.has(account))
  if (missing.length === 0) return logs
  return new Map([...logs, ...(await departedLogs(db, connection, missing))])
}

/** Returns the verified key logs, as `storedKeyLog` reads them. */
export async function keyLogsOf(
  db: Kysely<Schema>,
  connection: string,
  accounts: readonly string[],
): Promise<KeyLogs> {
  const logs = await logEntries(db, connection, accounts)
  const keyLogs = new Map<string, KeyLog>()
  for (const [account, entries] of logs) keyLogs.set(account, await storedKeyLog(account, entries))
  return keyLogs
}

/**
 * Returns a roster without the members with deleted accounts: no envelope is sealed to or by
 * them.
 */
export async function withoutDeletedMembers(db: Kysely<Schema>, roster: Roster): Promise<Roster> {
  const { connection, members } = roster
  const accounts = members.map(({ account }) => account)
  const departed = await departedOf(db, connection, accounts)
  return departed.size === 0
    ? roster
    : { ...roster, members: members.filter(({ account }) => !departed.has(account)) }
}
