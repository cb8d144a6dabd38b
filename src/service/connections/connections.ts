/**
 * Connections as one member sees them: each member has its own name and favourite mark for a
 * connection. The server does not have the secret, so the device fills in `secret_here` and
 * `replaced_by`. For an account that is not a member, the connection does not exist.
 */
import type { Kysely } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { Connection, Member } from '../../api/rest/connections.ts'
import { serverName } from '../../api/rest/names.ts'
import { AppError } from '../../errors.ts'
import { CONNECTION_PREFIX, requireMember, lockConnection, later } from './connection-rows.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { ENDED, receiversOf } from './invitation-ends.ts'
import { invitedIn, occupiesPlace, occupyingInvitations } from './invitation-rows.ts'
import { pageRows } from '../db/collections.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

/** Selects the connections of an account. */
const seenBy = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('memberships as own')
    .innerJoin('connections', 'connections.id', 'own.connection_id')
    .leftJoin('replacements', 'replacements.connection_id', 'own.connection_id')
    .select([
      'id',
      'replaces',
      'name',
      'favorite',
      'preset_id',
      'epoch',
      'ended_at',
      'created_at',
      'updated_at',
    ])
    .where('own.account_id', '=', account)

type Filters = Pick<Parameters<Service['connections']['list']>[0], 'state' | 'tag_id' | 'favorite'>

/**
 * Adds the conditions of every given filter to a query for an account's connections. The states are
 * defined as in `resources`.
 */
const filtered = (
  query: ReturnType<typeof seenBy>,
  account: string,
  { state, tag_id: tag, favorite }: Filters,
) =>
  query
    .$if(favorite !== undefined, (those) => those.where('favorite', '=', favorite ? 1 : 0))
    .$if(tag !== undefined, (those) =>
      those.where((of) =>
        of.exists(
          of
            .selectFrom('tag_assignments')
            .select('tag_id')
            .whereRef('tag_assignments.connection_id', '=', 'own.connection_id')
            .where('tag_assignments.account_id', '=', account)
            .where('tag_id', '=', tag!),
        ),
      ),
    )
    .$if(state !== undefined, (those) =>
      those.where('ended_at', state === 'ended' ? 'is not' : 'is', null),
    )
    .$if(state === 'pending' || state === 'active', (those) =>
      those.where((of) => {
        const other = of.exists(
          of
            .selectFrom('memberships as other')
            .select('other.account_id')
            .whereRef('other.connection_id', '=', 'own.connection_id')
            .where('other.account_id', '!=', account),
        )
        return state === 'active' ? other : of.not(other)
      }),
    )

type Row = Awaited<ReturnType<ReturnType<typeof seenBy>['executeTakeFirstOrThrow']>>

/**
 * Converts rows to resources, with members, invited people and the account's tags. It makes one
 * query for members, one for invitations and one for tags, for all rows together.
 */
async function resources(
  db: Kysely<Schema>,
  account: string,
  rows: readonly Row[],
  at: number,
): Promise<Connection[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  const members = await db
    .selectFrom('memberships')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .select(['connection_id', 'account_id', 'display_name', 'role'])
    .where('connection_id', 'in', ids)
    .orderBy('account_id')
    .execute()
  const activeOf = grouped(members)
  const invitedOf = grouped(await occupyingInvitations(db, ids, at).execute())
  const tags = await db
    .selectFrom('tag_assignments')
    .select(['connection_id', 'tag_id'])
    .where('account_id', '=', account)
    .where('connection_id', 'in', ids)
    .orderBy('tag_id')
    .execute()
  const tagsOf = grouped(tags)
  return rows.map((row) => {
    const active = (activeOf.get(row.id) ?? []).map((one): Member => {
      const { account_id, display_name, role } = one
      return {
        id: account_id,
        user_id: account_id,
        ...serverName(display_name),
        role,
        state: 'active',
      }
    })
    const all = [...active, ...invitedIn(invitedOf.get(row.id) ?? [])]
    return {
      id: row.id,
      name: row.name,
      kind: all.length > 2 ? 'group' : 'direct',
      state: row.ended_at !== null ? 'ended' : active.length < 2 ? 'pending' : 'active',
      favorite: row.favorite === 1,
      tag_ids: (tagsOf.get(row.id) ?? []).map(({ tag_id }) => tag_id),
      members: all,
      preset_id: row.preset_id,
      replaces: row.replaces,
      replaced_by: null,
      epoch: row.epoch,
      secret_here: false,
      created_at: timeAt(row.created_at),
      updated_at: timeAt(row.updated_at),
    }
  })
}

const grouped = <T extends { connection_id: string }>(rows: readonly T[]) =>
  Map.groupBy(rows, ({ connection_id }) => connection_id)

/**
 * Returns a connection as an account sees it.
 * @throws AppError `not_found`
 */
export async function readConnection(
  { db, now }: Pick<ServiceContext, 'db' | 'now'>,
  account: string,
  id: string,
): Promise<Connection> {
  requireId(CONNECTION_PREFIX, id, 'connection')
  const rows = await seenBy(db, account).where('id', '=', id).execute()
  const [connection] = await resources(db, account, rows, now())
  if (connection === undefined) throw notFound('connection')
  return connection
}

/** Stores the given values. If all of them equal the stored values, `updated_at` stays the same. */
async function change(
  ground: ServiceContext,
  account: string,
  id: string,
  wanted: { name?: string | undefined; favorite?: boolean | undefined },
): Promise<Connection> {
  const before = await readConnection(ground, account, id)
  const { name = before.name, favorite = before.favorite } = wanted
  if (name === before.name && favorite === before.favorite) return before
  await transactionWithMarks(ground.db, async (trx) => {
    await trx
      .updateTable('memberships')
      .set((of) => ({
        ...(wanted.name === undefined ? {} : { name }),
        ...(wanted.favorite === undefined
          ? {}
          : { favorite: favorite ? (1 as const) : (0 as const) }),
        ...later(of, ground.now()),
      }))
      .where('account_id', '=', account)
      .where('connection_id', '=', id)
      .execute()
    markChanged(trx, ['connections'], { accounts: [account] })
  })
  return readConnection(ground, account, id)
}

/**
 * Deletes a connection that has no other member, and every invitation to it. If an owner has ended
 * the connection and other members still list it, only the account's own membership is deleted.
 */
async function end({ events, now }: ServiceContext, account: string, id: string): Promise<void> {
  await events.transaction(async (trx) => {
    await requireMember(trx, account, id)
    await lockConnection(trx, id)
    markChanged(trx, ['connections'], { accounts: [account] })
    const members = await trx
      .selectFrom('memberships')
      .innerJoin('connections', 'connections.id', 'connection_id')
      .select('ended_at')
      .where('connection_id', '=', id)
      .limit(2)
      .execute()
    if (members.length > 1) {
      if (members.some(({ ended_at }) => ended_at === null))
        throw new AppError(
          'no_device',
          'This connection has other members, and leaving it needs a device’s keys. Leave it on a device that is signed in.',
        )
      await trx
        .deleteFrom('memberships')
        .where('connection_id', '=', id)
        .where('account_id', '=', account)
        .execute()
      return
    }
    const open = await trx
      .selectFrom('invitations')
      .select(ENDED)
      .where('connection_id', '=', id)
      .where((of) => occupiesPlace(of, now()))
      .execute()
    const receivers = await receiversOf(trx, open)
    const { numDeletedRows: ended } = await trx
      .deleteFrom('connections')
      .where('id', '=', id)
      .executeTakeFirst()
    if (ended === 0n) throw notFound('connection')
    await events.publish(trx, { type: 'invitation.withdrawn', receivers, at: now() })
  })
}

export const connections = (ground: ServiceContext): Service['connections'] => ({
  list: async (page, { account }) => {
    const those = filtered(seenBy(ground.db, account), account, page)
    const rows = await pageRows(those, page, CONNECTION_PREFIX, 'own.connection_id')
    return pageOf(await resources(ground.db, account, rows, ground.now()), page)
  },
  read: ({ id }, { account }) => readConnection(ground, account, id),
  update: ({ id, body }, { account }) => change(ground, account, id, body),
  favorite: ({ id, body }, { account }) => change(ground, account, id, body),
  delete: ({ id }, { account }) => end(ground, account, id),
})
