/**
 * Tags, by which an account sorts its connections. Other members of a connection do not see them.
 */
import type { Transaction } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { Tag } from '../../api/rest/tags.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { CONNECTION_PREFIX as CONNECTION, later } from './connection-rows.ts'
import { readConnection } from './connections.ts'
import type { ServiceContext } from '../context.ts'
import { collection } from '../db/collections.ts'
import { compiledOnce } from '../db/compiled.ts'
import { notFound, requireId } from '../db/faults.ts'
import { withAccountLock } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'

const PREFIX = 'tag_'

const owned = collection({
  prefix: PREFIX,
  what: 'tag',
  owner: 'account',
  most: 200,
  select: (db, account) =>
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
      .where('account_id', '=', account),
  resources: (rows) =>
    rows.map(({ connection_count, created_at, ...row }): Tag => ({
      ...row,
      connection_count: Number(connection_count),
      created_at: timeAt(created_at),
    })),
})

const insert = compiledOnce((db, row: Pick<Schema['tags'], keyof Schema['tags']>) =>
  db.insertInto('tags').values(row),
)

/**
 * Updates `updated_at` of the account's membership. This locks the row until the transaction ends.
 * @throws AppError `not_found` unless the account is a member
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
  markChanged(trx, ['connections'], { accounts: [account] })
}

export const tags = (ground: ServiceContext): Service['tags'] => {
  const { db, now } = ground

  return {
    list: (page, { account }) => owned.list(db, account, page),

    create: ({ body: { name, color = null } }, { account }) =>
      withAccountLock(db, account, async (trx) => {
        await owned.requireRoomFor(trx, account, name)
        const at = now()
        const id = newId(PREFIX, at)
        await insert(trx, { id, account_id: account, name, color, created_at: at })
        return { id, name, color, connection_count: 0, created_at: timeAt(at) }
      }),

    update: ({ id, body }, { account }) =>
      withAccountLock(db, account, async (trx) => {
        const before = await owned.read(trx, account, id)
        const { name = before.name, color = before.color } = body
        await owned.requireNewName(trx, account, name, id)
        await trx.updateTable('tags').set({ name, color }).where('id', '=', id).execute()
        return { ...before, name, color }
      }),

    // `updated_at` of the connections does not change, because otherwise the devices would fetch
    // all of them again.
    delete: ({ id }, { account }) =>
      withAccountLock(db, account, async (trx) => {
        await owned.read(trx, account, id)
        await trx.deleteFrom('tags').where('id', '=', id).execute()
      }),

    assign: async ({ id, cid: connection }, { account }) => {
      requireId(CONNECTION, connection, 'connection')
      await withAccountLock(db, account, async (trx) => {
        await owned.read(trx, account, id)
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
        await owned.read(trx, account, id)
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
