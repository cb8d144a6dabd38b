/**
 * Rows of trust cards, and the state of the followed accounts' keys as far as the server knows it.
 */
import type { Kysely } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import { serverName } from '../../api/rest/names.ts'
import type { TrustCard } from '../../api/rest/trust-cards.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'

type Row = Schema['trust_cards'] & { readonly display_name: string }
/** The account that follows, and the account that it follows. */
export type Watching = Pick<Row, 'account_id' | 'watched_id'>

/** Selects the cards of an account, with the current names of the followed accounts. */
export const cardsOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('trust_cards')
    .innerJoin('accounts', 'accounts.id', 'watched_id')
    .selectAll('trust_cards')
    .select('display_name')
    .where('account_id', '=', account)

/** Returns when the user last reviewed the followed account's keys, in Unix milliseconds. */
const lookedAt = ({ created_at, confirmed_at }: Row) => Math.max(created_at, confirmed_at ?? 0)

/**
 * Returns the followed accounts that replaced all their devices after `since`, and when.
 * @param since Unix milliseconds
 * @param of considers only these of the followed accounts; null for all
 */
export async function resetsSince(
  db: Kysely<Schema>,
  account: string,
  since: number,
  of: readonly string[] | null = null,
) {
  const rows = await db
    .selectFrom('trust_cards')
    .innerJoin('key_log_entries', 'key_log_entries.account_id', 'watched_id')
    .select(['watched_id', 'entry', 'stored_at'])
    .where('trust_cards.account_id', '=', account)
    .$if(of !== null, (query) => query.where('watched_id', 'in', of))
    .where('stored_at', '>', since)
    .execute()
  return rows.filter(({ entry }) => parseJws(entry, 'keylog+jws').payload.get('op') === 'reset')
}

/**
 * Returns the followed accounts with changed keys. Keys count as changed if they differ from the
 * reviewed keys and no recovery key links the two.
 */
export async function changedOf(
  db: Kysely<Schema>,
  account: string,
  rows: readonly Row[],
): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set()
  const since = new Map(rows.map((row) => [row.watched_id, lookedAt(row)]))
  const resets = await resetsSince(db, account, Math.min(...since.values()), [...since.keys()])
  const changed = resets.filter(
    ({ watched_id, stored_at }) => stored_at > (since.get(watched_id) as number),
  )
  const accounts = new Set(changed.map(({ watched_id }) => watched_id))
  if (accounts.size === 0) return accounts
  const { isLinkedSince } = await import('../accounts/stored-logs.ts')
  for (const one of accounts)
    if (await isLinkedSince(db, one, since.get(one) as number)) accounts.delete(one)
  return accounts
}

/**
 * Returns a card as a resource.
 * @param changed the followed accounts with changed keys, as `changedOf` returns them
 */
export const cardFrom = (row: Row, changed: ReadonlySet<string>): TrustCard => ({
  user_id: row.watched_id,
  ...serverName(row.display_name),
  own_name: null,
  name_changed: false,
  note: row.note,
  key_status: changed.has(row.watched_id)
    ? 'changed_unverified'
    : row.confirmed_at === null
      ? 'unchanged'
      : 'confirmed',
  // Only devices decide whether a recovery key links the keys, and fill in these fields.
  recovered_at: null,
  recovery_key_unused: false,
  safety_number: null,
  last_verified_at: row.last_verified_at === null ? null : timeAt(row.last_verified_at),
  created_at: timeAt(row.created_at),
})

/** Returns a card's position in the list: the creation time and the followed account. */
export const placeOf = (row: Row) => `${row.created_at} ${row.watched_id}`
export const isPlace = (text: string) => {
  const [at = '', watched = ''] = text.split(' ')
  return /^\d{1,15}$/.test(at) && text === `${at} ${watched}` && isId('acc_', watched)
}

/**
 * Returns an account's trust card for another account.
 * @throws AppError `not_found`
 */
export async function cardOf(
  db: Kysely<Schema>,
  { account_id, watched_id }: Watching,
): Promise<Row> {
  requireId('acc_', watched_id, 'trust card')
  const row = await cardsOf(db, account_id).where('watched_id', '=', watched_id).executeTakeFirst()
  if (row === undefined) throw notFound('trust card')
  return row
}
