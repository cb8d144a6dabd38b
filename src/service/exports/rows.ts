/**
 * The data of an export, page by page. Lists are the same as the account's own routes return. Data
 * that no route returns is read from the tables, in the form in which the server received it. Other
 * requests can run between two pages.
 */
import type { Kysely } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import type { Schema } from '../db/schema.ts'
import { sessionPage } from '../devices/session-list.ts'

/** The account to export, and access to its data. */
export interface Source {
  readonly db: Kysely<Schema>
  readonly id: string
  /** The account's calls, for a caller without a device. */
  readonly account: Account
  /** Returns the time in Unix milliseconds. */
  readonly now: () => number
}

/** The number of rows per page, so small that other requests are not delayed noticeably. */
const PAGE = 50
/** The number of rows per page for rows that may be long. */
const SHORT_PAGE = 20

interface Page<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}
type List<T> = (query: { limit: number; cursor?: string }) => Promise<Page<T>>

/** Yields all pages of a list route. */
export async function* listed<T>(list: List<T>): AsyncGenerator<readonly T[]> {
  let query: { limit: number; cursor?: string } = { limit: PAGE }
  for (;;) {
    const { items, next_cursor: cursor } = await list(query)
    yield items
    if (cursor === null) return
    query = { limit: PAGE, cursor }
  }
}

/**
 * Yields all pages of a table.
 * @param behind returns the next rows after `last`, or the first rows if `last` is null; at most
 *   `size`
 */
async function* paged<T>(
  size: number,
  behind: (last: T | null) => Promise<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  for (let last: T | null = null; ;) {
    const rows: readonly T[] = await behind(last)
    yield rows
    if (rows.length < size) return
    last = rows.at(-1) as T
  }
}

/** Yields the rows of an account in a table with an id column, newest first. */
const newestFirst = <T extends 'chat_turns' | 'feedback' | 'stamps'>(
  table: T,
  size: number,
  { db, id }: Source,
) =>
  paged<Schema[T] & { id: string }>(size, async (last) => {
    const rows = await (db as unknown as Kysely<Pick<Schema, 'stamps'>>)
      .selectFrom(table as 'stamps')
      .selectAll()
      .where('account_id', '=', id)
      .$if(last !== null, (query) => query.where('id', '<', (last as { id: string }).id))
      .orderBy('id', 'desc')
      .limit(size)
      .execute()
    return rows as unknown as (Schema[T] & { id: string })[]
  })

/** Converts each row of the pages with `tell`. */
async function* mapped<T, U>(pages: AsyncIterable<readonly T[]>, tell: (row: T) => U) {
  for await (const rows of pages) yield rows.map(tell)
}

/** Yields the trust cards as the API returns them, each with its whole history. */
export async function* trustCards({ account }: Source) {
  for await (const cards of listed((query) => account.trustCards.list(query)))
    for (const card of cards) {
      const history: unknown[] = []
      const id = card.user_id
      for await (const events of listed((query) => account.trustCards.history({ id, ...query })))
        history.push(...events)
      yield [{ ...card, history }]
    }
}

/**
 * Yields the sessions, including the embedded daemon's session. The API lists that session only to
 * the embedded daemon itself.
 */
export const sessions = ({ db, id: account, now }: Source) =>
  listed((query) => sessionPage({ db, now }, query, { account, current: null, within: true }))

/** Yields the API tokens that this server made. It makes tokens only for machine accounts. */
export async function* apiTokens({ account }: Source) {
  const { user } = await account.context.read({})
  if (user.kind === 'machine') yield* listed((query) => account.machineTokens.list(query))
}

export const keyLog = ({ db, id }: Source) =>
  mapped(
    paged<Schema['key_log_entries']>(PAGE, (last) =>
      db
        .selectFrom('key_log_entries')
        .selectAll()
        .where('account_id', '=', id)
        .where('seq', '>', last?.seq ?? -1)
        .orderBy('seq')
        .limit(PAGE)
        .execute(),
    ),
    ({ seq, entry, stored_at }) => ({ seq, entry, received_at: timeAt(stored_at) }),
  )

export async function* rosters({ db, id }: Source) {
  const connections = await db
    .selectFrom('memberships')
    .select('connection_id')
    .where('account_id', '=', id)
    .orderBy('connection_id', 'desc')
    .execute()
  for (const { connection_id } of connections)
    yield* paged<Schema['roster_entries']>(SHORT_PAGE, (last) =>
      db
        .selectFrom('roster_entries')
        .select(['connection_id', 'seq', 'entry'])
        .where('connection_id', '=', connection_id)
        .where('seq', '>', last?.seq ?? -1)
        .orderBy('seq')
        .limit(SHORT_PAGE)
        .execute(),
    )
}

export const stamps = (of: Source) =>
  mapped(newestFirst('stamps', PAGE, of), ({ id, stamp, receipt }) => ({ id, stamp, receipt }))

export const chat = (of: Source) =>
  mapped(
    newestFirst('chat_turns', SHORT_PAGE, of),
    ({ id, conversation_id, message, answer, rating, comment, created_at }) => ({
      turn_id: id,
      conversation_id,
      message,
      answer,
      rating,
      comment,
      created_at: timeAt(created_at),
    }),
  )

export const feedback = (of: Source) =>
  mapped(newestFirst('feedback', SHORT_PAGE, of), ({ id, message, category, created_at }) => ({
    id,
    message,
    category,
    created_at: timeAt(created_at),
  }))
