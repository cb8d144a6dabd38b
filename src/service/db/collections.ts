/**
 * Lists, sorted by time through their ids, newest first; and collections of things that an account
 * or an organisation owns, such as tags and groups. The declaration of a collection selects the
 * rows and makes resources from them. Its list, its look-ups by id, its limit and its unique names
 * follow. Rows that accumulate are limited to the newest.
 */
import { type Kysely, type SelectQueryBuilder, sql, type Transaction } from 'kysely'
import { pageOf, readCursor, rowsFor } from '../../api/cursor.ts'
import type { Page } from '../../api/fields.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { notFound, requireId } from './faults.ts'
import type { Schema } from './schema.ts'

/**
 * Returns the rows of `query` after the page's cursor, newest first. There is one more than the
 * page shows, as `pageOf` expects.
 * @param prefix of the ids, which are in `column`
 * @throws AppError `bad_request` for a cursor that is not such an id
 */
export function pageRows<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  page: Page,
  prefix: string,
  column = 'id',
) {
  const before = readCursor(page.cursor, (id) => isId(prefix, id))
  const id = sql.ref<string>(column)
  const behind = before === null ? query : query.where(id, '<', before)
  return behind.orderBy(id, 'desc').limit(rowsFor(page)).execute()
}

/** How errors name the owner of a collection. */
const OWNERS = {
  account: { anOwner: 'An account', has: 'You have' },
  organisation: { anOwner: 'An organisation', has: 'The organisation has' },
} as const

interface Declaration<
  TB extends keyof Schema,
  Row extends { readonly id: string },
  Resource extends { id: string },
> {
  /** The prefix of the ids. */
  readonly prefix: string
  /** The singular, as in errors: "tag". */
  readonly what: string
  readonly owner: keyof typeof OWNERS
  /** The most things of an owner. */
  readonly most: number
  /** Selects the rows of an owner: an account or an organisation. */
  readonly select: (db: Kysely<Schema>, owner: string) => SelectQueryBuilder<Schema, TB, Row>
  /** Returns rows as resources, in the same order. */
  readonly resources: (rows: readonly Row[], db: Kysely<Schema>) => Resource[] | Promise<Resource[]>
}

/**
 * Returns a name for comparison: names that differ only in case, spaces or normal form look
 * alike.
 */
const folded = (name: string) => name.normalize('NFC').trim().toLowerCase()

/** Returns the operations on a declared collection. `owner` is the id of its owner. */
export function collection<
  TB extends keyof Schema,
  Row extends { readonly id: string },
  Resource extends { id: string },
>({ prefix, what, owner: kind, most, select, resources }: Declaration<TB, Row, Resource>) {
  const { anOwner, has } = OWNERS[kind]
  type Query = SelectQueryBuilder<Schema, TB, Row>

  return {
    /** Returns a page, newest first. `narrow` adds conditions. */
    async list(
      db: Kysely<Schema>,
      owner: string,
      page: Page,
      narrow: (query: Query) => Query = (query) => query,
    ) {
      const rows = await pageRows(narrow(select(db, owner)), page, prefix)
      return pageOf(await resources(rows, db), page)
    },

    /**
     * Returns one by its id.
     * @throws AppError `not_found`
     */
    async read(db: Kysely<Schema>, owner: string, id: string): Promise<Resource> {
      requireId(prefix, id, what)
      const rows = await select(db, owner).where(sql.ref<string>('id'), '=', id).execute()
      const [resource] = await resources(rows, db)
      if (resource === undefined) throw notFound(what)
      return resource
    },

    /**
     * Checks that the owner may have one more.
     * @throws AppError `conflict`
     */
    async requireRoom(trx: Transaction<Schema>, owner: string): Promise<void> {
      const { count } = await select(trx, owner)
        .clearSelect()
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) >= most)
        throw new AppError('conflict', `${anOwner} has at most ${most} ${what}s. Delete one first.`)
    },

    /**
     * Checks that no other one of the owner has the name.
     * @param own the id of the one that gets the name; null for a new one
     * @throws AppError `conflict`
     */
    async requireNewName(
      trx: Transaction<Schema>,
      owner: string,
      name: string,
      own: string | null = null,
    ): Promise<void> {
      const others = await select(trx, owner)
        .clearSelect()
        .select([sql<string>`id`.as('id'), sql<string>`name`.as('name')])
        .execute()
      if (others.some((one) => one.id !== own && folded(one.name) === folded(name)))
        throw new AppError(
          'conflict',
          `${has} a ${what} with this name already. Choose another name.`,
        )
    },
  }
}

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
