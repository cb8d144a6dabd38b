/**
 * Builds key logs and rosters from entries in this database. Each entry was fully verified before
 * it was stored, so these functions do not verify stored signatures again, but they check every
 * other rule. They work in slices, because the logs of 200 members are long.
 */
import type { Kysely } from 'kysely'
import { lastPlace } from '../../crypto/logs/chain.ts'
import { isLinked } from '../../crypto/logs/generations.ts'
import { generationAt, type KeyLog, verifyingKeyLog } from '../../crypto/logs/key-log.ts'
import { type KeyLogs, type Roster, verifyingRoster } from '../../crypto/logs/roster.ts'
import { inSlices } from '../../slices.ts'
import type { Schema } from '../db/schema.ts'
import { entriesOf } from './key-log-rows.ts'

/**
 * Returns an account's key log, built from its stored entries, of which there must be at least one.
 * @param next entries that are not stored yet. They are fully verified.
 * @throws Refusal for the first rule that `next` breaks
 */
export const storedKeyLog = (
  account: string,
  entries: readonly string[],
  next: readonly string[] = [],
): Promise<KeyLog> => inSlices(verifyingKeyLog(account, [...entries, ...next], lastPlace(entries)))

/** Returns a connection's roster, built from its stored entries as `storedKeyLog` does. */
export const storedRoster = (
  connection: string,
  { entries, keyLogs }: { entries: readonly string[]; keyLogs: KeyLogs },
  next: readonly string[] = [],
): Promise<Roster> =>
  inSlices(verifyingRoster(connection, [...entries, ...next], keyLogs, lastPlace(entries)))

/**
 * Returns whether an account's newest generation is linked to its generation at the time `since`.
 * @param since Unix milliseconds
 */
export async function isLinkedSince(
  db: Kysely<Schema>,
  account: string,
  since: number,
): Promise<boolean> {
  const { entries, storedAt } = await entriesOf(db, account)
  const then = storedAt.findLastIndex((at) => at <= since)
  if (then === -1) return false
  const log = await storedKeyLog(account, entries)
  return isLinked(log, generationAt(log, then), log.generation)
}
