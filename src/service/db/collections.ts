/**
 * Lists of rows, and collections. A collection contains things of one kind that an account or an
 * organisation owns, such as tags or groups. Lists are sorted by id, which sorts them by time,
 * newest first. A collection is declared by a query for its rows and a function that makes
 * resources from them. The list, look-up by id, size limit and unique names are derived from that.
 * `keepNewest` deletes old rows of tables that would otherwise grow forever.
 */
import { type Kysely, type SelectQueryBuilder, sql, type Transaction } from 'kysely'
import { pageOf, readCursor, rowsFor } from '../../api/cursor.ts'
import type { Page } from '../../api/fields.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { compiledOnce } from './compiled.ts'
import { notFound, requireId } from './faults.ts'
import type { Schema } from './schema.ts'

/** The values of a query for a page. A type, because an interface has no index signature. */
export type PageValues = {
  /** The page has the ids before this one; undefined for the first page. */
  readonly before: string | undefined
  /** The number of rows: one more than the page shows, as `pageOf` expects. */
  readonly rows: number
}

/**
 * Returns the values of a page.
 * @param prefix the prefix of the ids
 * @throws AppError `bad_request` if the cursor is not an id with this prefix
 */
export const ofPage = (page: Page, prefix: string): PageValues => ({
  before: readCursor(page.cursor, (id) => isId(prefix, id)) ?? undefined,
  rows: rowsFor(page),
})

/** Restricts a query to the rows of a page, newest first. */
export function onPage<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  { before, rows }: PageValues,
  column = 'id',
): SelectQueryBuilder<DB, TB, Row> {
  const id = sql.ref<string>(column)
  const behind = before === undefined ? query : query.where(id, '<', before)
  return behind.orderBy(id, 'desc').limit(rows)
}

/**
 * Returns the rows of `query` on a page, newest first.
 * @param prefix the prefix of the ids in `column`
 * @throws AppError `bad_request` if the cursor is not an id with this prefix
 */
export const pageRows = <DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  page: Page,
  prefix: string,
  column?: string,
): Promise<Row[]> => onPage(query, ofPage(page, prefix), column).execute() as Promise<Row[]>

/** How error messages name the owner of a collection. */
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
  /** What error messages call one thing, in the singular, such as "tag". */
  readonly what: string
  readonly owner: keyof typeof OWNERS
  /** The maximum number of things per owner. */
  readonly most: number
  /** Selects the rows of an owner. `owner` is the id of an account or an organisation. */
  readonly select: (db: Kysely<Schema>, owner: string) => SelectQueryBuilder<Schema, TB, Row>
  /** Converts rows to resources, in the same order. */
  readonly resources: (rows: readonly Row[], db: Kysely<Schema>) => Resource[] | Promise<Resource[]>
}

/**
 * Returns a name in a form for comparison. Names that differ only in case, outer spaces or Unicode
 * normal form look alike, and count as equal.
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

  const byId = compiledOnce((db, { owner, id }: { owner: string; id: string }) =>
    select(db, owner).where(sql.ref<string>('id'), '=', id),
  )
  /** Selects the names of an owner's things, except the thing `but`. */
  const namesOf = compiledOnce((db, { owner, but }: { owner: string; but: string | undefined }) =>
    select(db, owner)
      .clearSelect()
      .select(sql<string>`name`.as('name'))
      .$if(but !== undefined, (query) => query.where(sql.ref<string>('id'), '!=', but!)),
  )

  const full = () =>
    new AppError('conflict', `${anOwner} has at most ${most} ${what}s. Delete one first.`)

  /**
   * Checks that none of an owner's things has the name.
   * @throws AppError `conflict`
   */
  function requireOther(things: readonly { readonly name: string }[], name: string): void {
    const same = folded(name)
    if (things.some((thing) => folded(thing.name) === same))
      throw new AppError(
        'conflict',
        `${has} a ${what} with this name already. Choose another name.`,
      )
  }

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
     * Returns the owner's resource with this id.
     * @throws AppError `not_found`
     */
    async read(db: Kysely<Schema>, owner: string, id: string): Promise<Resource> {
      requireId(prefix, id, what)
      const [resource] = await resources(await byId(db, { owner, id }), db)
      if (resource === undefined) throw notFound(what)
      return resource
    },

    /**
     * Checks that the owner has fewer resources than the maximum.
     * @throws AppError `conflict`
     */
    async requireRoom(trx: Transaction<Schema>, owner: string): Promise<void> {
      const { count } = await select(trx, owner)
        .clearSelect()
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) >= most) throw full()
    },

    /**
     * Checks that none of the owner's other resources has the name.
     * @param own the id of the resource to be named
     * @throws AppError `conflict`
     */
    async requireNewName(
      trx: Transaction<Schema>,
      owner: string,
      name: string,
      own: string,
    ): Promise<void> {
      requireOther(await namesOf(trx, { owner, but: own }), name)
    },

    /**
     * Checks that the owner can have one more resource, and that no other has its name.
     * @throws AppError `conflict`
     */
    async requireRoomFor(trx: Transaction<Schema>, owner: string, name: string): Promise<void> {
      const things = await namesOf(trx, { owner, but: undefined })
      requireOther(things, name)
      if (things.length >= most) throw full()
    },
  }
}

/** Tables with an account id per row, and ids that sort by time. */
type Gathered = 'chat_turns' | 'feedback' | 'notifications' | 'open_link_requests'

/**
 * Deletes all rows of an account except its newest.
 * @param only considers only rows with these kinds or states. Other rows stay and are not counted.
 */
export async function keepNewest(
  trx: Transaction<Schema>,
  table: Gathered,
  account: string,
  most: number,
  only: { readonly column: 'kind' | 'state'; readonly values: readonly string[] } | null = null,
): Promise<void> {
  // TypeScript treats the tables as different types, but all have the columns used here.
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
