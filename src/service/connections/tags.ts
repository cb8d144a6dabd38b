/**
 * Tags, by which an account sorts its connections. Other members of a connection do not see them.
 */
import type { Kysely, Transaction } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { Tag } from '../../api/rest/tags.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { withAccountLock, requireFewer, requireNewName } from '../accounts/labels.ts'
import { CONNECTION_PREFIX as CONNECTION, later } from './connection-rows.ts'
import { readConnection } from './connections.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { pageRows } from '../db/page-rows.ts'
import type { Schema } from '../db/schema.ts'

const PREFIX = 'tag_'
/** The beginning of the error for a name that is taken. */
const WHO = 'You have a tag'

/** The most tags of an account. */
const MOST = 200

const seenBy = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('tags')
    .select(['id', 'name', 'color', 'created_at'])
    .select((of) =>
      of
        .selectFrom('tag_assignments')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('tag_id', '=', 'tags.id')
        .as('connection_count'),
    )
    .where('account_id', '=', account)

type Row = Awaited<ReturnType<ReturnType<typeof seenBy>['executeTakeFirstOrThrow']>>

const resource = ({ connection_count, created_at, ...row }: Row): Tag => ({
  ...row,
  connection_count: Number(connection_count),
  created_at: timeAt(created_at),
})

/**
 * Returns a tag of the account.
 * @throws AppError `not_found`
 */
async function readTag(db: Kysely<Schema>, account: string, id: string): Promise<Tag> {
  requireId(PREFIX, id, 'tag')
  const row = await seenBy(db, account).where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw notFound('tag')
  return resource(row)
}

type Named = Pick<Row, 'id' | 'name'>

const namesOf = (trx: Transaction<Schema>, account: string): Promise<Named[]> =>
  trx.selectFrom('tags').select(['id', 'name']).where('account_id', '=', account).execute()

/**
 * Sets the time of change of the account's membership, which locks it until the transaction ends.
 * @throws AppError `not_found` unless it is a member
 */
async function touch(
  trx: Transaction<Schema>,
  { account, connection, at }: { account: string; connection: string; at: number },
): Promise<void> {
  const { numUpdatedRows: touched } = await trx
    .updateTable('memberships')
    .set((of) => later(of, at))
    .where('account_id', '=', account)
    .where('connection_id', '=', connection)
    .executeTakeFirst()
  if (touched === 0n) throw notFound('connection')
}

export const tags = (ground: ServiceContext): Service['tags'] => {
  const { db, now } = ground

  return {
    list: async (page, { account }) => {
      const rows = await pageRows(seenBy(db, account), page, PREFIX)
      return pageOf(rows.map(resource), page)
    },

    create: ({ body: { name, color = null } }, { account }) =>
      withAccountLock(db, account, async (trx) => {
        const names = await namesOf(trx, account)
        requireNewName(names, name, { own: null, who: WHO })
        requireFewer(names.length, MOST, 'tags')
        const at = now()
        const id = newId(PREFIX, at)
        await trx
          .insertInto('tags')
          .values({ id, account_id: account, name, color, created_at: at })
          .execute()
        return readTag(trx, account, id)
      }),

    update: ({ id, body }, { account }) =>
      withAccountLock(db, account, async (trx) => {
        const before = await readTag(trx, account, id)
        const { name = before.name, color = before.color } = body
        requireNewName(await namesOf(trx, account), name, { own: id, who: WHO })
        await trx.updateTable('tags').set({ name, color }).where('id', '=', id).execute()
        return { ...before, name, color }
      }),

    // The times of change of the connections stay: otherwise the devices would fetch them all
    // again.
    delete: ({ id }, { account }) =>
      withAccountLock(db, account, async (trx) => {
        await readTag(trx, account, id)
        await trx.deleteFrom('tags').where('id', '=', id).execute()
      }),

    assign: async ({ id, cid: connection }, { account }) => {
      requireId(CONNECTION, connection, 'connection')
      await withAccountLock(db, account, async (trx) => {
        await readTag(trx, account, id)
        const of = { account_id: account, connection_id: connection, tag_id: id }
        const known = await trx
          .selectFrom('tag_assignments')
          .select('tag_id')
          .where('account_id', '=', account)
          .where('connection_id', '=', connection)
          .where('tag_id', '=', id)
          .executeTakeFirst()
        if (known !== undefined) return
        await touch(trx, { account, connection, at: now() })
        await trx.insertInto('tag_assignments').values(of).execute()
      })
      return readConnection(ground, account, connection)
    },

    unassign: async ({ id, cid: connection }, { account }) => {
      requireId(CONNECTION, connection, 'connection')
      await withAccountLock(db, account, async (trx) => {
        await readTag(trx, account, id)
        await touch(trx, { account, connection, at: now() })
        const { numDeletedRows: removed } = await trx
          .deleteFrom('tag_assignments')
          .where('account_id', '=', account)
          .where('connection_id', '=', connection)
          .where('tag_id', '=', id)
          .executeTakeFirst()
        if (removed === 0n) throw notFound('tag on this connection')
      })
    },
  }
}
