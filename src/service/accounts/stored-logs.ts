/**
 * Key logs and rosters from entries in this database. Each entry was verified in full before it
 * was stored, so these functions verify no stored signature again; they check every other rule.
 * They read in slices, because the logs of 200 members are long.
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
 * Returns the key log of an account from its stored entries, at least one.
 * @param next entries that are not stored yet, which are verified in full
 * @throws Refusal for the first rule that `next` breaks
 */
export const storedKeyLog = (
  account: string,
  entries: readonly string[],
  next: readonly string[] = [],
): Promise<KeyLog> => inSlices(verifyingKeyLog(account, [...entries, ...next], lastPlace(entries)))

/** Returns the roster of a connection from its stored entries, as `storedKeyLog` does. */
export const storedRoster = (
  connection: string,
  { entries, keyLogs }: { entries: readonly string[]; keyLogs: KeyLogs },
  next: readonly string[] = [],
): Promise<Roster> =>
  inSlices(verifyingRoster(connection, [...entries, ...next], keyLogs, lastPlace(entries)))

/**
 * Returns whether the newest generation is linked to the generation at `since`.
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
