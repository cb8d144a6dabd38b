/**
 * Presets: initial values for new connections, and the message and validity of invitations to them.
 * An account may have one default preset. The initial values are copied when the connection is
 * created. The invitation values are read from the creator's preset at every invitation.
 */
import type { Kysely, Transaction } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import type { Preset } from '../../api/rest/presets.ts'
import { newId } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import { collection } from '../db/collections.ts'
import { notFound } from '../db/faults.ts'
import { lockAccount, withAccountLock } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'
import type { Inviter } from '../events.ts'

const DAY_MS = 24 * 3_600_000
/** How long an invitation is valid if no preset says otherwise. */
const USUAL_MS = 14 * DAY_MS

/**
 * Returns the preset for a new connection, or null. Locks the account, so that the preset does not
 * change until the transaction ends.
 * @param wanted the id of the requested preset; null for none; undefined for the default preset
 * @throws AppError `not_found` if the account has no such preset
 */
export async function presetFor(
  trx: Transaction<Schema>,
  account: string,
  wanted: string | null | undefined,
): Promise<Pick<Schema['presets'], 'id' | 'favorite'> | null> {
  if (wanted === null) return null
  await lockAccount(trx, account)
  const preset = await trx
    .selectFrom('presets')
    .select(['id', 'favorite'])
    .where('account_id', '=', account)
    .$if(wanted === undefined, (query) => query.where('is_default', '=', 1))
    .$if(wanted !== undefined, (query) => query.where('id', '=', wanted!))
    .executeTakeFirst()
  if (preset === undefined && wanted !== undefined) throw notFound('preset')
  return preset ?? null
}

/** Assigns to a new connection the tags of the preset with which its member created it. */
export async function tagByPreset(
  trx: Transaction<Schema>,
  { account, connection }: { account: string; connection: string },
): Promise<void> {
  await trx
    .insertInto('tag_assignments')
    .columns(['account_id', 'connection_id', 'tag_id'])
    .expression((from) =>
      from
        .selectFrom('memberships')
        .innerJoin('preset_tags', 'preset_tags.preset_id', 'memberships.preset_id')
        .select(['account_id', 'connection_id', 'tag_id'])
        .where('account_id', '=', account)
        .where('connection_id', '=', connection),
    )
    .execute()
}

/**
 * Returns a member's data as an inviter. The message and validity of invitations come from the
 * preset with which the member created the connection.
 */
export async function inviterIn(
  trx: Transaction<Schema>,
  account: string,
  connection: string,
): Promise<Inviter> {
  const { name, message, seconds } = await trx
    .selectFrom('memberships')
    .leftJoin('presets', 'presets.id', 'memberships.preset_id')
    .select([
      'memberships.name as name',
      'invite_message as message',
      'invitation_expires_in as seconds',
    ])
    .where('memberships.account_id', '=', account)
    .where('connection_id', '=', connection)
    .executeTakeFirstOrThrow()
  const goodForMs = seconds === null ? USUAL_MS : seconds * 1000
  return { account, connection, name, message, goodForMs }
}

const PREFIX = 'pre_'

type Row = Schema['presets']
type Body = Parameters<Service['presets']['update']>[0]['body']

/** Converts rows to resources, each with its tags. */
async function resources(rows: readonly Row[], db: Kysely<Schema>): Promise<Preset[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const tags = await db
    .selectFrom('preset_tags')
    .selectAll()
    .where('preset_id', 'in', ids)
    .orderBy('tag_id')
    .execute()
  const tagsOf = Map.groupBy(tags, ({ preset_id }) => preset_id)
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    tag_ids: (tagsOf.get(row.id) ?? []).map(({ tag_id }) => tag_id),
    favorite: row.favorite === 1,
    invite_message: row.invite_message,
    invitation_expires_in: row.invitation_expires_in,
    is_default: row.is_default === 1,
    created_at: timeAt(row.created_at),
  }))
}

const owned = collection({
  prefix: PREFIX,
  what: 'preset',
  owner: 'account',
  most: 100,
  select: (db, account) => db.selectFrom('presets').selectAll().where('account_id', '=', account),
  resources,
})

/**
 * Checks that all tags belong to the account.
 * @throws AppError `validation_failed`, with an issue for each tag that does not
 */
async function requireTags(
  trx: Transaction<Schema>,
  account: string,
  wanted: readonly string[],
): Promise<void> {
  if (wanted.length === 0) return
  const rows = await trx
    .selectFrom('tags')
    .select('id')
    .where('account_id', '=', account)
    .where('id', 'in', wanted)
    .execute()
  const known = new Set(rows.map(({ id }) => id))
  const issues = wanted.flatMap((id, i) =>
    known.has(id) ? [] : [{ path: `tag_ids.${i}`, message: 'You have no tag with this id.' }],
  )
  if (issues.length > 0) throw invalid('body', issues)
}

/** Replaces the tags of a preset. */
async function putTags(
  trx: Transaction<Schema>,
  of: { account: string; preset: string; tags: readonly string[] },
): Promise<void> {
  const { account, preset, tags } = of
  await requireTags(trx, account, tags)
  await trx.deleteFrom('preset_tags').where('preset_id', '=', preset).execute()
  const rows = [...new Set(tags)].map((tag_id) => ({ preset_id: preset, tag_id }))
  if (rows.length > 0) await trx.insertInto('preset_tags').values(rows).execute()
}

/** Returns the columns that a request changes. */
const columnsOf = ({ name, favorite, invite_message, invitation_expires_in }: Body) => ({
  ...(name === undefined ? {} : { name }),
  ...(favorite === undefined ? {} : { favorite: favorite ? (1 as const) : (0 as const) }),
  ...(invite_message === undefined ? {} : { invite_message }),
  ...(invitation_expires_in === undefined ? {} : { invitation_expires_in }),
})

export const presets = ({ db, now }: ServiceContext): Service['presets'] => ({
  list: (page, { account }) => owned.list(db, account, page),

  create: ({ body }, { account }) =>
    withAccountLock(db, account, async (trx) => {
      await owned.requireRoom(trx, account)
      const at = now()
      const id = newId(PREFIX, at)
      const of = { id, account_id: account, created_at: at, is_default: 0 } as const
      await trx
        .insertInto('presets')
        .values({ favorite: 0, ...columnsOf(body), name: body.name, ...of })
        .execute()
      await putTags(trx, { account, preset: id, tags: body.tag_ids ?? [] })
      return owned.read(trx, account, id)
    }),

  update: ({ id, body }, { account }) =>
    withAccountLock(db, account, async (trx) => {
      await owned.read(trx, account, id)
      const columns = columnsOf(body)
      if (Object.keys(columns).length > 0)
        await trx.updateTable('presets').set(columns).where('id', '=', id).execute()
      if (body.tag_ids !== undefined)
        await putTags(trx, { account, preset: id, tags: body.tag_ids })
      return owned.read(trx, account, id)
    }),

  delete: ({ id }, { account }) =>
    withAccountLock(db, account, async (trx) => {
      await owned.read(trx, account, id)
      await trx.deleteFrom('presets').where('id', '=', id).execute()
    }),

  setDefault: ({ id }, { account }) =>
    withAccountLock(db, account, async (trx) => {
      const { is_default } = await owned.read(trx, account, id)
      if (!is_default) {
        await clearDefault(trx, account)
        await trx.updateTable('presets').set({ is_default: 1 }).where('id', '=', id).execute()
      }
      return owned.read(trx, account, id)
    }),

  clearDefault: (_, { account }) =>
    withAccountLock(db, account, (trx) => clearDefault(trx, account)),
})

/** Makes none of the account's presets the default. */
async function clearDefault(trx: Transaction<Schema>, account: string): Promise<void> {
  await trx
    .updateTable('presets')
    .set({ is_default: 0 })
    .where('account_id', '=', account)
    .where('is_default', '=', 1)
    .execute()
}
