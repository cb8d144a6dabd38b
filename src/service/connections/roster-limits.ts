/**
 * Limits how much an account may put into a roster: every member of the connection reads and
 * verifies it.
 */
import type { Transaction } from 'kysely'
import type { JsonObject } from '../../crypto/encoding/json.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { CONNECTION_PREFIX } from './connection-rows.ts'
import type { Schema } from '../db/schema.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

/**
 * The most entries of one account in one connection within a period. An owner who adds 199
 * members, changes the role of each and rotates for each stays below it.
 */
const ENTRIES: Brake = {
  what: 'roster',
  most: 1000,
  periodMs: 24 * 3_600_000,
  told: 'This account changed this connection 1,000 times in a day. Removing members, leaving and ending the connection go on.',
}

/** Entries that end access are never limited. */
const UNCOUNTED: readonly unknown[] = ['leave', 'remove', 'end']

/**
 * The longest entries, in characters. One that opens an epoch names a place in the key log of
 * each other member: with 199 of them it has 30,000. Of the others `add` is the longest, with
 * 1,700.
 */
const MOST = { opensEpoch: 40_960, other: 4096 }

/** Returns whether an entry opens an epoch, by its payload. */
export const opensEpoch = (payload: JsonObject): boolean => payload.has('k_commit')

/**
 * Checks the length of an entry, which white space could extend.
 * @throws Refusal `too_large`
 */
export function requireShort(entry: string, payload: JsonObject): void {
  const most = MOST[opensEpoch(payload) ? 'opensEpoch' : 'other']
  requireThat(
    entry.length <= most,
    'too_large',
    `this server takes such entries of ${most} characters`,
  )
}

/**
 * Counts an entry; a rollback of the transaction also undoes the count.
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
