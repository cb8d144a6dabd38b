/** What an account gathers without end, kept as far as its newest rows. */
import type { Transaction } from 'kysely'
import type { Schema } from './schema.ts'

/** Tables whose rows are an account's and have ids in the order of time. */
type Gathered = 'chat_turns' | 'feedback' | 'notifications' | 'open_link_requests'

/**
 * Delete all rows of an account but its newest.
 * @param only those of these kinds, or in these states; the others stay and are not counted
 */
export async function keepNewest(
  trx: Transaction<Schema>,
  table: Gathered,
  account: string,
  most: number,
  only: { readonly column: 'kind' | 'state'; readonly values: readonly string[] } | null = null,
): Promise<void> {
  // To the types each table is its own; what is asked of it they have all.
  const gathered = table as 'feedback'
  const column = only?.column as 'category'
  await trx
    .deleteFrom(gathered)
    .where('account_id', '=', account)
    .$if(only !== null, (query) => query.where(column, 'in', only!.values))
    .where('id', '<=', (of) =>
      of
        .selectFrom(`${gathered} as kept`)
        .select('kept.id')
        .where('kept.account_id', '=', account)
        .$if(only !== null, (query) => query.where(`kept.${column}`, 'in', only!.values))
        .orderBy('kept.id', 'desc')
        .offset(most)
        .limit(1),
    )
    .execute()
}
