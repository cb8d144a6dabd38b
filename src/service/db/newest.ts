/** Limits the rows that an account accumulates to the newest. */
import type { Transaction } from 'kysely'
import type { Schema } from './schema.ts'

/** Tables with rows of accounts and ids that sort by time. */
type Gathered = 'chat_turns' | 'feedback' | 'notifications' | 'open_link_requests'

/**
 * Deletes all rows of an account except its newest.
 * @param only rows of these kinds or states; the others stay and are not counted
 */
export async function keepNewest(
  trx: Transaction<Schema>,
  table: Gathered,
  account: string,
  most: number,
  only: { readonly column: 'kind' | 'state'; readonly values: readonly string[] } | null = null,
): Promise<void> {
  // The types treat each table as different, but all have the columns used here.
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
