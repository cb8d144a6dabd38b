/**
 * Trust cards: the accounts that an account follows. The server stores a card's note, confirmations
 * and events. Whether keys have changed is decided by devices. For callers without a device, the
 * server can only report whether all devices of a followed account were replaced since it was
 * followed or confirmed.
 */
import { pageOf, readCursor, rowsFor } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { TrustCard } from '../../api/rest/trust-cards.ts'
import { formatId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { accountBehind } from '../accounts/mailbox-lookups.ts'
import { pageRows } from '../db/collections.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'
import { EVENT } from './history.ts'
import {
  type Watching,
  cardFrom,
  cardOf,
  cardsOf,
  changedOf,
  isPlace,
  placeOf,
  resetsSince,
} from './rows.ts'

const HOUR_MS = 3_600_000
const MONTH_MS = 30 * 24 * HOUR_MS

const refusedFollow = (state: 'self' | 'followed') =>
  new AppError(
    'invalid_state',
    state === 'self' ? 'This is your own account.' : 'You follow this person already.',
    { details: { state } },
  )

async function follow(
  { events, now }: ServiceContext,
  of: Watching & { readonly note: string | null },
): Promise<TrustCard> {
  const at = now()
  return events.transaction(async (trx) => {
    const known = await trx
      .selectFrom('accounts')
      .select('id')
      .where('id', '=', of.watched_id)
      .executeTakeFirst()
    if (known === undefined) throw notFound('account')
    const { numInsertedOrUpdatedRows: made } = await trx
      .insertInto('trust_cards')
      .values({ ...of, created_at: at, confirmed_at: null, last_verified_at: null })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow()
    if (made !== 1n) throw refusedFollow('followed')
    const { account_id: account, watched_id: watched } = of
    markChanged(trx, ['trust_cards'], { accounts: [account] })
    await events.publish(trx, { type: 'trust_card.created', account, watched, at })
    return cardFrom(await cardOf(trx, of), new Set())
  })
}

/** Applies a user's changes to a card. A value that is already stored causes no event. */
async function change(
  { events, now }: ServiceContext,
  of: Watching,
  changes: { readonly note?: string | null | undefined; readonly confirmed?: true | undefined },
): Promise<TrustCard> {
  const at = now()
  return events.transaction(async (trx) => {
    const row = await cardOf(trx, of)
    const changed = await changedOf(trx, of.account_id, [row])
    const isNoted = changes.note !== undefined && changes.note !== row.note
    const isConfirmed =
      changes.confirmed === true && (row.confirmed_at === null || changed.has(row.watched_id))
    if (!isNoted && !isConfirmed) return cardFrom(row, changed)
    const set = {
      ...(isNoted ? { note: changes.note } : {}),
      ...(isConfirmed ? { confirmed_at: at } : {}),
    }
    await trx
      .updateTable('trust_cards')
      .set(set)
      .where('account_id', '=', of.account_id)
      .where('watched_id', '=', of.watched_id)
      .execute()
    const { account_id: account, watched_id: watched } = of
    markChanged(trx, ['trust_cards'], { accounts: [account] })
    await events.publish(trx, {
      type: 'trust_card.changed',
      account,
      watched,
      isConfirmed,
      isNoted,
      at,
    })
    return cardFrom(await cardOf(trx, of), isConfirmed ? new Set() : changed)
  })
}

const ownNamesOnly = () =>
  new AppError(
    'no_device',
    'Your own names for people are stored only on a device. Set such a name on a device that is signed in.',
  )

export const trustCards = (ground: ServiceContext): Service['trustCards'] => {
  const { db } = ground
  return {
    list: async (page, { account }) => {
      const place = readCursor(page.cursor, isPlace)
      const [at, watched] = place === null ? [] : place.split(' ')
      const rows = await cardsOf(db, account)
        .$if(place !== null, (query) =>
          query.where((of) =>
            of.or([
              of('trust_cards.created_at', '<', Number(at)),
              of.and([
                of('trust_cards.created_at', '=', Number(at)),
                of('watched_id', '<', String(watched)),
              ]),
            ]),
          ),
        )
        .orderBy('trust_cards.created_at', 'desc')
        .orderBy('watched_id', 'desc')
        .limit(rowsFor(page))
        .execute()
      const changed = await changedOf(db, account, rows)
      const { items, next_cursor } = pageOf(
        rows.map((row) => ({ id: placeOf(row), card: cardFrom(row, changed) })),
        page,
      )
      return { items: items.map(({ card }) => card), next_cursor }
    },

    create: async ({ body }, { account }) => {
      const watched_id =
        'email' in body ? await accountBehind(ground, account, body.email) : body.user_id
      if (watched_id === account) throw refusedFollow('self')
      return follow(ground, { account_id: account, watched_id, note: body.note ?? null })
    },

    update: async ({ id, body: { name, ...body } }, { account }) => {
      if (name !== undefined) throw ownNamesOnly()
      return change(ground, { account_id: account, watched_id: id }, body)
    },

    delete: ({ id }, { account }) =>
      transactionWithMarks(db, async (trx) => {
        await cardOf(trx, { account_id: account, watched_id: id })
        for (const table of ['trust_cards', 'trust_events'] as const)
          await trx
            .deleteFrom(table)
            .where('account_id', '=', account)
            .where('watched_id', '=', id)
            .execute()
        markChanged(trx, ['trust_cards'], { accounts: [account] })
      }),

    history: async ({ id, ...page }, { account }) => {
      await cardOf(db, { account_id: account, watched_id: id })
      const rows = await pageRows(
        db
          .selectFrom('trust_events')
          .select(['id', 'at', 'event', 'detail'])
          .where('account_id', '=', account)
          .where('watched_id', '=', id),
        page,
        EVENT,
      )
      const { items, next_cursor } = pageOf(rows, page)
      return {
        items: items.map(({ at, event, detail }) => ({ at: timeAt(at), event, detail })),
        next_cursor,
      }
    },
  }
}

/** Returns the lowest id that a row created at or after `unixMs` can have. */
function lowestId(prefix: string, unixMs: number): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(Math.max(0, unixMs), 0, 6)
  return formatId(prefix, bytes)
}

export const trust = ({ db, now }: ServiceContext): Service['trust'] => ({
  metrics: async (_, { account }) => {
    const since = now() - MONTH_MS
    const cards = await db
      .selectFrom('trust_cards')
      .select(({ fn }) => [
        fn.countAll<number>().as('following'),
        // `count` of a column counts only rows in which it is not null, so only confirmed cards.
        fn.count<number>('confirmed_at').as('confirmed'),
      ])
      .where('account_id', '=', account)
      .executeTakeFirstOrThrow()
    const resets = await resetsSince(db, account, since)
    const { followers } = await db
      .selectFrom('trust_cards')
      .select(({ fn }) => fn.countAll<number>().as('followers'))
      .where('watched_id', '=', account)
      .executeTakeFirstOrThrow()
    const logged = db
      .selectFrom('verifications')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('account_id', '=', account)
      .where('id', '>=', lowestId('ver_', since))
    const all = await logged.executeTakeFirstOrThrow()
    // The pattern matches only the field `outcome` of the entry. In the value of another field, the
    // quotation marks would be escaped.
    const unsure = await logged
      .where('entry', 'like', '%"outcome":"inconclusive"%')
      .executeTakeFirstOrThrow()
    return {
      ...cards,
      followers,
      keys_changed_30d: resets.length,
      verifications_30d: all.count,
      inconclusive_30d: unsure.count,
    }
  },
})
