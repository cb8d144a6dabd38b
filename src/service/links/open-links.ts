/**
 * Open links: pages for requests to connect with an account. A slug belongs to one link at a
 * time; the previous slug of a link stops working.
 */
import type { Kysely, Transaction } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { OpenLink } from '../../api/rest/open-links.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { requireFewer } from '../accounts/labels.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { pageRows } from '../db/page-rows.ts'
import { presetFor } from '../connections/preset-rows.ts'
import type { Schema } from '../db/schema.ts'
import { freeSlug } from './slugs.ts'
import { acquireLock } from '../db/locks.ts'

const PREFIX = 'lnk_'
/** The maximum number of links of an account. */
const MOST = 50

type Needs = Pick<ServiceContext, 'db' | 'publicUrl'>

/** Selects the links of an account, each with the number of its pending requests. */
const linksOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('open_links')
    .select(['id', 'slug', 'title', 'state', 'preset_id', 'created_at'])
    .select((of) =>
      of
        .selectFrom('open_link_requests')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('open_link_requests.open_link_id', '=', 'open_links.id')
        .where('open_link_requests.state', '=', 'pending')
        .as('pending'),
    )
    .where('open_links.account_id', '=', account)

type Row = Awaited<ReturnType<ReturnType<typeof linksOf>['executeTakeFirstOrThrow']>>

const resource = ({ pending, ...row }: Row, publicUrl: string): OpenLink => ({
  id: row.id,
  slug: row.slug,
  title: row.title,
  state: row.state,
  url: `${publicUrl}/o/${row.slug}`,
  pending_requests: Number(pending),
  preset_id: row.preset_id,
  created_at: timeAt(row.created_at),
})

/** Returns a link. Throws AppError `not_found`. */
async function read({ db, publicUrl }: Needs, account: string, id: string): Promise<OpenLink> {
  const row = await linksOf(db, account).where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw notFound('open link')
  return resource(row, publicUrl())
}

const namesOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('accounts')
    .select(['display_name', 'handle'])
    .where('id', '=', account)
    .executeTakeFirstOrThrow()

/** Returns the names for a slug: the handle of the account first, then its display name. */
const wanted = ({ display_name, handle }: { display_name: string; handle: string | null }) =>
  handle === null ? [display_name] : [handle, display_name]

/**
 * Requires a free slug. The caller holds the lock for slugs, so of two concurrent requests for
 * the same one only one succeeds.
 * @throws AppError `conflict`
 */
async function requireFree(trx: Transaction<Schema>, slug: string): Promise<void> {
  const taken = await trx
    .selectFrom('open_links')
    .select('id')
    .where('slug', '=', slug)
    .executeTakeFirst()
  if (taken !== undefined)
    throw new AppError('conflict', `The slug "${slug}" is taken: choose another.`)
}

async function requireRoom(trx: Transaction<Schema>, account: string): Promise<void> {
  const { count } = await trx
    .selectFrom('open_links')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', account)
    .executeTakeFirstOrThrow()
  requireFewer(Number(count), MOST, 'open links')
}

export const openLinks = ({ db, publicUrl, now }: ServiceContext): Service['openLinks'] => {
  /** Changes a link of the account. Throws AppError `not_found`. */
  const change =
    (set: { state: OpenLink['state'] }): Service['openLinks']['pause'] =>
    async ({ id }, { account }) => {
      requireId(PREFIX, id, 'open link')
      await db
        .updateTable('open_links')
        .set(set)
        .where('id', '=', id)
        .where('account_id', '=', account)
        .execute()
      return read({ db, publicUrl }, account, id)
    }

  return {
    list: async ({ state, ...page }, { account }) => {
      const those = linksOf(db, account).$if(state !== undefined, (query) =>
        query.where('state', '=', state!),
      )
      const rows = await pageRows(those, page, PREFIX)
      const url = publicUrl()
      return pageOf(
        rows.map((row) => resource(row, url)),
        page,
      )
    },

    create: ({ body }, { account }) =>
      db.transaction().execute(async (trx) => {
        await acquireLock(trx, 'turn of slugs')
        const { preset_id = null } = body
        await presetFor(trx, account, preset_id)
        await requireRoom(trx, account)
        if (body.slug !== undefined) await requireFree(trx, body.slug)
        const names = await namesOf(trx, account)
        const at = now()
        const id = newId(PREFIX, at)
        await trx
          .insertInto('open_links')
          .values({
            id,
            account_id: account,
            slug: body.slug ?? (await freeSlug(trx, wanted(names))),
            title: body.title ?? names.display_name,
            state: 'active',
            preset_id,
            created_at: at,
          })
          .execute()
        return read({ db: trx, publicUrl }, account, id)
      }),

    suggest: async (_, { account }) => ({
      slug: await freeSlug(db, wanted(await namesOf(db, account))),
    }),

    pause: change({ state: 'paused' }),

    resume: change({ state: 'active' }),

    slug: async ({ id, body: { slug } }, { account }) => {
      requireId(PREFIX, id, 'open link')
      return db.transaction().execute(async (trx) => {
        await acquireLock(trx, 'turn of slugs')
        const before = await read({ db: trx, publicUrl }, account, id)
        if (before.slug === slug) return before
        await requireFree(trx, slug)
        await trx.updateTable('open_links').set({ slug }).where('id', '=', id).execute()
        return read({ db: trx, publicUrl }, account, id)
      })
    },

    delete: async ({ id }, { account }) => {
      requireId(PREFIX, id, 'open link')
      const { numDeletedRows: deleted } = await db
        .deleteFrom('open_links')
        .where('id', '=', id)
        .where('account_id', '=', account)
        .executeTakeFirst()
      if (deleted === 0n) throw notFound('open link')
    },
  }
}
