/**
 * Open links: pages where people can ask to connect with an account. A slug belongs to one link at
 * a time. When a link gets a new slug, the previous one stops working. Users read slugs aloud and
 * type them, so proposed slugs consist of a name or words.
 */
import type { Kysely, Transaction } from 'kysely'
import { randomInt } from 'node:crypto'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { reachableFrom } from '../../api/reachable.ts'
import { nameWithoutChoice } from '../../api/rest/names.ts'
import type { OpenLink } from '../../api/rest/open-links.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { wordsAt } from '../../crypto/words.ts'
import { AppError } from '../../errors.ts'
import { presetFor } from '../connections/presets.ts'
import type { ServiceContext } from '../context.ts'
import { collection } from '../db/collections.ts'
import { notFound, requireId } from '../db/faults.ts'
import { acquireLock } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'

const LONGEST = 40
const SHORTEST = 3
const WORDS_IN_LIST = 4096
/**
 * The longest name that a random word is appended to. This leaves room for a hyphen and a word of
 * nine letters.
 */
const LONGEST_BASE = LONGEST - 10
/**
 * How many proposals with random words are looked up together. Some of them are very likely free.
 */
const PROPOSALS = 12

/** The spelling of Latin letters that Unicode does not decompose into ASCII. */
const SPELLED: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ı: 'i',
}

/**
 * Returns a slug made from a name, with as many of its words as fit. It consists of a-z, 0-9 and
 * single hyphens. It is empty for a name in another script.
 */
function spelled(name: string, longest: number): string {
  const letters = name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\0-\x7f]/g, (letter) => SPELLED[letter] ?? letter)
  const [first = '', ...rest] = letters.split(/[^a-z0-9]+/).filter((part) => part !== '')
  let slug = first.slice(0, longest)
  for (const part of rest) {
    if (slug.length + 1 + part.length > longest) break
    slug += `-${part}`
  }
  return slug
}

const someWords = (count: number) =>
  wordsAt(Array.from({ length: count }, () => randomInt(WORDS_IN_LIST)))

/** Returns proposals in order of preference. */
function proposalsFor(names: readonly string[]): string[] {
  const bases = names.map((name) => spelled(name, LONGEST)).filter((slug) => slug !== '')
  const base = spelled(bases[0] ?? '', LONGEST_BASE)
  const further = Array.from({ length: PROPOSALS }, () =>
    base === '' ? someWords(3).join('-') : [base, ...someWords(1)].join('-'),
  )
  // A proposal without the name, which is free even if the name is very common.
  const last = someWords(3).join('-')
  return [...bases, ...further, last].filter((slug) => slug.length >= SHORTEST)
}

/**
 * Returns a readable slug that is not taken now.
 * @param names the names to make the slug from, best first
 * @throws AppError `conflict` if no free slug was found, which is unlikely
 */
async function freeSlug(db: Kysely<Schema>, names: readonly string[]): Promise<string> {
  const proposals = proposalsFor(names)
  const rows = await db
    .selectFrom('open_links')
    .select('slug')
    .where('slug', 'in', proposals)
    .execute()
  const taken = new Set(rows.map(({ slug }) => slug))
  const free = proposals.find((slug) => !taken.has(slug))
  if (free === undefined)
    throw new AppError('conflict', 'No free slug was found. Choose one yourself.')
  return free
}

const PREFIX = 'lnk_'

/** Selects an account's links, each with its number of pending requests. */
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
  reachable: reachableFrom(publicUrl),
  pending_requests: Number(pending),
  preset_id: row.preset_id,
  created_at: timeAt(row.created_at),
})

const namesOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('accounts')
    .select(['display_name', 'handle'])
    .where('id', '=', account)
    .executeTakeFirstOrThrow()

/**
 * Rejects an open link of an account that is still called by its address, because anyone can read
 * the page.
 * @throws AppError `invalid_state`
 */
async function requireChosenName(trx: Transaction<Schema>, account: string, name: string) {
  const addresses = await trx
    .selectFrom('emails')
    .select('address')
    .where('account_id', '=', account)
    .execute()
  if (addresses.every(({ address }) => name !== nameWithoutChoice(address))) return
  throw new AppError(
    'invalid_state',
    'This account has no name, so the page would show your address to everyone. Choose a name first: PATCH /api/v1/profile ("countersignd profile set --name NAME").',
    { details: { state: 'no_name' } },
  )
}

/**
 * Returns the names from which to make a slug: the account's handle, if any, then its display name.
 */
const wanted = ({ display_name, handle }: { display_name: string; handle: string | null }) =>
  handle === null ? [display_name] : [handle, display_name]

/**
 * Checks that a slug is free. The caller must have acquired the lock for slugs, so that only one of
 * two concurrent requests for the same slug succeeds.
 * @throws AppError `conflict`
 */
async function requireFree(trx: Transaction<Schema>, slug: string): Promise<void> {
  const taken = await trx
    .selectFrom('open_links')
    .select('id')
    .where('slug', '=', slug)
    .executeTakeFirst()
  if (taken !== undefined)
    throw new AppError('conflict', `The slug "${slug}" is taken. Choose another.`)
}

export const openLinks = ({ db, events, publicUrl, now }: ServiceContext): Service['openLinks'] => {
  const links = collection({
    prefix: PREFIX,
    what: 'open link',
    owner: 'account',
    most: 50,
    select: linksOf,
    resources: (rows) => rows.map((row) => resource(row, publicUrl())),
  })

  /**
   * Returns an operation that sets the state of one of the account's links. It throws AppError
   * `not_found`.
   */
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
      return links.read(db, account, id)
    }

  return {
    list: ({ state, ...page }, { account }) =>
      links.list(db, account, page, (all) =>
        state === undefined ? all : all.where('state', '=', state),
      ),

    create: ({ body }, { account }) =>
      db.transaction().execute(async (trx) => {
        await acquireLock(trx, 'turn of slugs')
        const { preset_id = null } = body
        await presetFor(trx, account, preset_id)
        await links.requireRoom(trx, account)
        if (body.slug !== undefined) await requireFree(trx, body.slug)
        const names = await namesOf(trx, account)
        await requireChosenName(trx, account, names.display_name)
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
        return links.read(trx, account, id)
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
        const before = await links.read(trx, account, id)
        if (before.slug === slug) return before
        await requireFree(trx, slug)
        await trx.updateTable('open_links').set({ slug }).where('id', '=', id).execute()
        return links.read(trx, account, id)
      })
    },

    delete: async ({ id }, { account }) => {
      requireId(PREFIX, id, 'open link')
      await events.transaction(async (trx) => {
        const { numDeletedRows: deleted } = await trx
          .deleteFrom('open_links')
          .where('id', '=', id)
          .where('account_id', '=', account)
          .executeTakeFirst()
        if (deleted === 0n) throw notFound('open link')
        // The requests are deleted with the link.
        markChanged(trx, ['open_link_requests'], { accounts: [account] })
        await events.publish(trx, { type: 'open_link.deleted', account, link: id, at: now() })
      })
    },
  }
}
