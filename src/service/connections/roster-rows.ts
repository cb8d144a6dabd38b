/**
 * Roster rows, the key logs that verify them, and limits. The limits are needed because every
 * member reads and verifies what one account puts into a roster.
 */
import type { Kysely, Transaction } from 'kysely'
import type { JsonObject } from '../../crypto/encoding/json.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import type { KeyLogs, Roster } from '../../crypto/logs/roster.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { departedLogs } from '../accounts/deleted-accounts.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'
import type { Schema } from '../db/schema.ts'
import { CONNECTION_PREFIX } from './connection-rows.ts'
import { departedOf } from './deleted-members.ts'

/** Returns a roster's entries, in order; an empty list if the connection does not exist. */
export async function rosterEntries(db: Kysely<Schema>, connection: string): Promise<string[]> {
  const rows = await db
    .selectFrom('roster_entries')
    .select('entry')
    .where('connection_id', '=', connection)
    .orderBy('seq')
    .execute()
  return rows.map(({ entry }) => entry)
}

/** Returns the newest roster entry of a connection, which must exist. */
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
 * Returns the key log entries of accounts, in order. Accounts that were deleted are included if
 * this connection's roster names them. Accounts without a key log are omitted.
 */
async function logEntries(
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

/** Returns the accounts' key logs, as `storedKeyLog` builds them. */
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

/** Returns a roster without deleted members, because envelopes to or from them are not accepted. */
export async function withoutDeletedMembers(db: Kysely<Schema>, roster: Roster): Promise<Roster> {
  const { connection, members } = roster
  const accounts = members.map(({ account }) => account)
  const departed = await departedOf(db, connection, accounts)
  return departed.size === 0
    ? roster
    : { ...roster, members: members.filter(({ account }) => !departed.has(account)) }
}

/**
 * The limit for entries by one account in one connection. An owner who adds 199 members, changes
 * the role of each, and rotates once for each stays below the limit.
 */
const ENTRIES: Brake = {
  what: 'roster',
  most: 1000,
  periodMs: 24 * 3_600_000,
  message:
    'This account has changed this connection 1,000 times in a day, which is the limit. Removing members, leaving and ending the connection are still possible.',
}

/** The ops that are not limited, because they end access. */
const UNCOUNTED: readonly unknown[] = ['leave', 'remove', 'end']

/**
 * The longest accepted entries, in characters. An entry that opens an epoch names a position in
 * every other member's key log, which takes 30,000 characters for 199 members. Of the other
 * entries, `add` is the longest, with 1,700 characters.
 */
const MOST = { opensEpoch: 40_960, other: 4096 }

/** Returns whether the entry with this payload opens an epoch. */
export const opensEpoch = (payload: JsonObject): boolean => payload.has('k_commit')

/**
 * Checks the length of an entry. Valid JSON may contain any amount of white space.
 * @throws Refusal `too_large`
 */
export function requireShort(entry: string, payload: JsonObject): void {
  const most = MOST[opensEpoch(payload) ? 'opensEpoch' : 'other']
  requireThat(
    entry.length <= most,
    'too_large',
    `this server accepts such entries of at most ${most} characters`,
  )
}

/**
 * Counts an entry against the limit. A rollback of the transaction also undoes the count.
 * @param at Unix milliseconds
 * @throws AppError `rate_limited`, with Retry-After
 */
export async function countEntry(
  trx: Transaction<Schema>,
  { account, connection, op }: { account: string; connection: string; op: unknown },
  at: number,
): Promise<void> {
  if (UNCOUNTED.includes(op)) return
  await countTryIn(trx, account, ENTRIES, at, connection.slice(CONNECTION_PREFIX.length))
}
