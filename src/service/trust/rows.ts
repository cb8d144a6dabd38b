/** Trust cards as the tables have them, and what the account server may say of the keys behind them. */
import type { Kysely } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import { serverName } from '../../api/rest/names.ts'
import type { TrustCard } from '../../api/rest/trust-cards.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { demandId, notFound } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'

export type Row = Schema['trust_cards'] & { readonly display_name: string }
/** Who follows whom. */
export type Watching = Pick<Row, 'account_id' | 'watched_id'>

/** The cards of an account, with the names that those have now. */
export const cardsOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('trust_cards')
    .innerJoin('accounts', 'accounts.id', 'watched_id')
    .selectAll('trust_cards')
    .select('display_name')
    .where('account_id', '=', account)

/** When the person last had a look at the keys. */
const lookedAt = ({ created_at, confirmed_at }: Row) => Math.max(created_at, confirmed_at ?? 0)

/**
 * Whose devices were all replaced after `since` (Unix milliseconds), of those whom an account follows, and when.
 * @param of only these of them
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
 * The cards with keys that differ from those the person reviewed and are not linked to them by the
 * recovery key.
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
  const { isLinkedSince } = await import('../accounts/linked-keys.ts')
  for (const one of accounts)
    if (await isLinkedSince(db, one, since.get(one) as number)) accounts.delete(one)
  return accounts
}

/** A card as it is answered. `changed`: whose keys are others than the person looked at. */
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
  // What a recovery key vouches for, the devices judge.
  recovered_at: null,
  recovery_key_unused: false,
  safety_number: null,
  last_verified_at: row.last_verified_at === null ? null : timeAt(row.last_verified_at),
  created_at: timeAt(row.created_at),
})

/** A place in the list: when the card was made, and of whom. */
export const placeOf = (row: Row) => `${row.created_at} ${row.watched_id}`
export const isPlace = (text: string) => {
  const [at = '', watched = ''] = text.split(' ')
  return /^\d{1,15}$/.test(at) && text === `${at} ${watched}` && isId('acc_', watched)
}

/** Throws AppError `not_found`. */
export async function cardOf(
  db: Kysely<Schema>,
  { account_id, watched_id }: Watching,
): Promise<Row> {
  demandId('acc_', watched_id, 'trust card')
  const row = await cardsOf(db, account_id).where('watched_id', '=', watched_id).executeTakeFirst()
  if (row === undefined) throw notFound('trust card')
  return row
}
