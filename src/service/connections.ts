/**
 * Connections, as one of their members sees them: the name and the favourite are that member's own. The secret is never here;
 * `secret_here` is for the device to say. Another account's connection is simply not there.
 */
import type { Kysely } from 'kysely'
import { pageOf, readCursor, rowsFor } from '../api/cursor.ts'
import { timeAt } from '../api/fields.ts'
import type { Service } from '../api/port.ts'
import type { Connection, Member } from '../api/rest/connections.ts'
import { isId } from '../crypto/id.ts'
import { demandId, notFound } from './faults.ts'
import type { Ground } from './ground.ts'
import type { Schema } from './schema.ts'

const PREFIX = 'con_'

/** The connections of an account. */
const seenBy = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('memberships as own')
    .innerJoin('connections', 'connections.id', 'own.connection_id')
    .select(['id', 'name', 'favorite', 'epoch', 'created_at', 'updated_at'])
    .where('own.account_id', '=', account)

type Row = Awaited<ReturnType<ReturnType<typeof seenBy>['executeTakeFirstOrThrow']>>

/** The rows as resources, with the members of all of them in one query. */
async function resources(db: Kysely<Schema>, rows: readonly Row[]): Promise<Connection[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  const members = await db
    .selectFrom('memberships')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .select(['connection_id', 'account_id', 'display_name', 'role'])
    .where('connection_id', 'in', ids)
    .orderBy('account_id')
    .execute()
  return rows.map((row) => {
    const own = members
      .filter((member) => member.connection_id === row.id)
      .map(({ account_id, display_name, role }): Member => {
        return { user_id: account_id, display_name, role, state: 'active' }
      })
    return {
      id: row.id,
      name: row.name,
      kind: 'direct',
      state: own.length < 2 ? 'pending' : 'active',
      favorite: row.favorite === 1,
      tag_ids: [],
      members: own,
      preset_id: null,
      epoch: row.epoch,
      secret_here: false,
      created_at: timeAt(row.created_at),
      updated_at: timeAt(row.updated_at),
    }
  })
}

/** A connection as an account sees it. Throws AppError `not_found`. */
export async function readConnection(
  db: Kysely<Schema>,
  account: string,
  id: string,
): Promise<Connection> {
  demandId(PREFIX, id, 'connection')
  const rows = await seenBy(db, account).where('id', '=', id).execute()
  const [connection] = await resources(db, rows)
  if (connection === undefined) throw notFound('connection')
  return connection
}

/** Change what is given and differs; a change that changes nothing leaves `updated_at` alone. */
async function change(
  { db, now }: Ground,
  account: string,
  id: string,
  wanted: { name?: string | undefined; favorite?: boolean | undefined },
): Promise<Connection> {
  const before = await readConnection(db, account, id)
  const { name = before.name, favorite = before.favorite } = wanted
  if (name === before.name && favorite === before.favorite) return before
  await db
    .updateTable('memberships')
    .set({
      ...(wanted.name === undefined ? {} : { name }),
      ...(wanted.favorite === undefined ? {} : { favorite: favorite ? 1 : 0 }),
      updated_at: now(),
    })
    .where('account_id', '=', account)
    .where('connection_id', '=', id)
    .execute()
  return readConnection(db, account, id)
}

export const connections = (ground: Ground): Service['connections'] => ({
  list: async (page, { account }) => {
    const before = readCursor(page.cursor, (id) => isId(PREFIX, id))
    const rows = await seenBy(ground.db, account)
      .$if(before !== null, (query) => query.where('own.connection_id', '<', before))
      .orderBy('own.connection_id', 'desc')
      .limit(rowsFor(page))
      .execute()
    return pageOf(await resources(ground.db, rows), page)
  },
  read: ({ id }, { account }) => readConnection(ground.db, account, id),
  update: ({ id, body }, { account }) => change(ground, account, id, body),
  favorite: ({ id, body }, { account }) => change(ground, account, id, body),
  delete: async ({ id }, { account }) => {
    demandId(PREFIX, id, 'connection')
    const { numDeletedRows: deleted } = await ground.db
      .deleteFrom('connections')
      .where('id', '=', id)
      // It ends for every member, so only an owner may.
      .where('id', 'in', (of) =>
        of
          .selectFrom('memberships')
          .select('connection_id')
          .where('account_id', '=', account)
          .where('role', '=', 'owner'),
      )
      .executeTakeFirst()
    if (deleted === 0n) throw notFound('connection')
  },
})
