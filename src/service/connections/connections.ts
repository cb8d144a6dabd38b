/**
 * Connections as one member sees them: each member has its own name and favourite mark for a
 * connection. The server does not have the secret, so the device fills in `secret_here`,
 * `suspended` and `replaced_by`. For an account that is not a member, the connection does not
 * exist.
 */
import { type Kysely, type QueryCreator, sql } from 'kysely'
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
import { markInvitations } from '../accounts/invitation-marks.ts'
import { invitedIn, occupiesPlace, occupyingInvitations } from './invitation-rows.ts'
import { ofPage, onPage, type PageValues } from '../db/collections.ts'
import { compiledOnce } from '../db/compiled.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

/**
 * Selects the connections of an account, with its own role and name. The name is the same in each
 * row, so the database reads it once.
 */
const seenBy = (db: QueryCreator<Schema>, account: string) =>
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
      'own.role as own_role',
    ])
    .select((of) =>
      of
        .selectFrom('accounts as caller')
        .select('caller.display_name')
        .where('caller.id', '=', account)
        .as('own_name'),
    )
    .where('own.account_id', '=', account)

type State = Connection['state']

/**
 * Returns the query for a page of an account's connections, with the conditions of every given
 * filter. The states are defined as in `resources`.
 */
const pageIn = (state: State | undefined) =>
  compiledOnce(
    (
      db,
      values: PageValues & {
        readonly account: string
        readonly tag: string | undefined
        readonly favorite: 0 | 1 | undefined
      },
    ) => {
      const { account, tag, favorite } = values
      const those = seenBy(db, account)
        .$if(favorite !== undefined, (query) => query.where('favorite', '=', favorite!))
        .$if(tag !== undefined, (query) =>
          query.where((of) =>
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
        .$if(state !== undefined, (query) =>
          query.where('ended_at', state === 'ended' ? 'is not' : 'is', null),
        )
        .$if(state === 'pending' || state === 'active', (query) =>
          query.where((of) => {
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
      return onPage(those, values, 'own.connection_id')
    },
  )

const PAGES = {
  any: pageIn(undefined),
  pending: pageIn('pending'),
  active: pageIn('active'),
  ended: pageIn('ended'),
}

type Row = Awaited<ReturnType<ReturnType<typeof seenBy>['executeTakeFirstOrThrow']>>

/**
 * Selects what belongs to connections: their other members, the people who are invited to them, and
 * the account's tags. They are one query: three queries would each wait for the connection, and
 * PostgreSQL would plan each of them.
 */
const partsIn = (
  db: QueryCreator<Schema>,
  { ids, account, at }: { ids: readonly string[]; account: string; at: number },
) =>
  db
    .selectFrom('memberships')
    .select([sql<'member' | 'invited' | 'tag'>`'member'`.as('part'), 'connection_id'])
    .select(['account_id as part_id', 'account_id as to_account'])
    .select(sql<string | null>`null`.as('to_email'))
    // Not a join, for which PostgreSQL may read all accounts.
    .select((of) =>
      of
        .selectFrom('accounts')
        .select('accounts.display_name')
        .whereRef('accounts.id', '=', 'memberships.account_id')
        .$castTo<{ display_name: string | null }>()
        .as('display_name'),
    )
    .select(sql<Member['role'] | null>`role`.as('role'))
    .where('connection_id', 'in', ids)
    .where('account_id', '!=', account)
    .unionAll(
      occupyingInvitations(db, ids, at)
        .clearSelect()
        .clearOrderBy()
        .select([sql<'invited'>`'invited'`.as('part'), 'connection_id'])
        .select('invitations.id as part_id')
        .select([sql<string>`to_account`.as('to_account'), 'to_email', 'display_name'])
        .select(sql<null>`null`.as('role')),
    )
    .unionAll(
      db
        .selectFrom('tag_assignments')
        .select([sql<'tag'>`'tag'`.as('part'), 'connection_id', 'tag_id as part_id'])
        .select(sql<string>`null`.as('to_account'))
        .select([sql<null>`null`.as('to_email'), sql<null>`null`.as('display_name')])
        .select(sql<null>`null`.as('role'))
        .where('account_id', '=', account)
        .where('connection_id', 'in', ids),
    )

type Part = Awaited<ReturnType<ReturnType<typeof partsIn>['executeTakeFirstOrThrow']>>

const partsOf = compiledOnce((db, of: { ids: readonly string[]; account: string; at: number }) =>
  partsIn(db, of).orderBy('part_id'),
)

/** Selects a connection once for each of its parts, or once without one. */
const oneWithParts = compiledOnce(
  (db, { id, account, at }: { id: string; account: string; at: number }) =>
    db
      .with('own', (query) => seenBy(query, account).where('id', '=', id))
      .with('parts', (query) => partsIn(query, { ids: [id], account, at }))
      .selectFrom('own')
      .leftJoin('parts', 'parts.connection_id', 'own.id')
      .selectAll()
      .orderBy('part_id'),
)

/**
 * Converts a row to a resource.
 * @param account the account that reads it
 * @param parts its other members, invited people and the account's tags
 */
function resource(row: Row, account: string, parts: readonly Part[]): Connection {
  const own = { part_id: account, display_name: row.own_name, role: row.own_role }
  const active = [own, ...parts.filter(({ part }) => part === 'member')]
    .map(({ part_id: id, display_name, role }): Member => ({
      id,
      user_id: id,
      ...serverName(display_name as string),
      role: role as Member['role'],
      state: 'active',
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  const invited = parts.filter(({ part }) => part === 'invited')
  const all = [...active, ...invitedIn(invited.map((one) => ({ ...one, id: one.part_id })))]
  return {
    id: row.id,
    name: row.name,
    kind: all.length > 2 ? 'group' : 'direct',
    state: row.ended_at !== null ? 'ended' : active.length < 2 ? 'pending' : 'active',
    favorite: row.favorite === 1,
    tag_ids: parts.filter(({ part }) => part === 'tag').map(({ part_id }) => part_id),
    members: all,
    preset_id: row.preset_id,
    replaces: row.replaces,
    replaced_by: null,
    epoch: row.epoch,
    secret_here: false,
    suspended: null,
    created_at: timeAt(row.created_at),
    updated_at: timeAt(row.updated_at),
  }
}

/** Converts rows to resources. */
async function resources(
  db: Kysely<Schema>,
  account: string,
  rows: readonly Row[],
  at: number,
): Promise<Connection[]> {
  if (rows.length === 0) return []
  const parts = await partsOf(db, { ids: rows.map(({ id }) => id), account, at })
  const byConnection = Map.groupBy(parts, ({ connection_id }) => connection_id)
  return rows.map((row) => resource(row, account, byConnection.get(row.id) ?? []))
}

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
  const rows = await oneWithParts(db, { id, account, at: now() })
  if (rows[0] === undefined) throw notFound('connection')
  const parts = rows.filter(({ part }) => part !== null) as readonly Part[]
  return resource(rows[0], account, parts)
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
    await markInvitations(trx, (of) => of('connection_id', '=', id))
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
    const { state = 'any', tag_id: tag } = page
    const favorite = page.favorite === undefined ? undefined : page.favorite ? 1 : 0
    const values = { ...ofPage(page, CONNECTION_PREFIX), account, tag, favorite } as const
    const rows = await PAGES[state](ground.db, values)
    const { items, next_cursor } = pageOf(rows, page)
    return { items: await resources(ground.db, account, items, ground.now()), next_cursor }
  },
  read: ({ id }, { account }) => readConnection(ground, account, id),
  update: ({ id, body }, { account }) => change(ground, account, id, body),
  favorite: ({ id, body }, { account }) => change(ground, account, id, body),
  delete: ({ id }, { account }) => end(ground, account, id),
})
