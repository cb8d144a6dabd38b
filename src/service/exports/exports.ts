/**
 * Exports: all data that the account server has about an account, in one file. A request for an
 * export returns immediately. The server builds the file in the background, stores it for a week,
 * and serves it at a link that is valid for five minutes.
 */
import type { Kysely, Transaction } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import { reachableFrom } from '../../api/reachable.ts'
import type { Service } from '../../api/port.ts'
import type { DownloadLink, Export } from '../../api/rest/account.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { newDownloadLinks } from './download-links.ts'
import type { Exporter } from './building.ts'
import { deleteParts } from './leases.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { lockAccount } from '../db/locks.ts'
import { machineTokenExpiry } from '../devices/machine-tokens.ts'
import { pageRows } from '../db/collections.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

const PREFIX = 'exp_'
/** The maximum number of exports of an account. */
const MOST = 20

const BRAKE: Brake = {
  what: 'export',
  most: 20,
  periodMs: 3_600_000,
  message: 'Too many exports were requested. The limit is 20 an hour.',
}

type Row = Schema['exports']

const exportState = ({ state, expires_at }: Pick<Row, 'state' | 'expires_at'>, now: number) =>
  state === 'ready' && expires_at !== null && expires_at <= now ? 'expired' : state

const timeOrNull = (at: number | null) => (at === null ? null : timeAt(at))

const resource = (row: Row, now: number): Export => ({
  id: row.id,
  state: exportState(row, now),
  progress: row.progress,
  finished_at: timeOrNull(row.finished_at),
  size_bytes: row.size_bytes,
  expires_at: timeOrNull(row.expires_at),
  error: row.error,
  created_at: timeAt(row.created_at),
})

/** Returns the error for an export that has no file because of its state. */
const notReady = (state: Export['state']) => {
  const why = {
    queued: 'This export is waiting to be built. Try again later.',
    building: 'This export is being built. Try again later.',
    failed: 'This export could not be built. Request another.',
    expired: 'This export has expired, and its file is deleted. Request another.',
    ready: '',
  }[state]
  return new AppError('export_not_ready', why, { details: { state } })
}

/**
 * Checks that an account may request another export.
 * @throws AppError `conflict` if an export is being built, or if the account has the maximum number
 */
async function requireRoom(trx: Transaction<Schema>, account: string): Promise<void> {
  const rows = await trx
    .selectFrom('exports')
    .select(['id', 'state'])
    .where('account_id', '=', account)
    .execute()
  const running = rows.find(({ state }) => state === 'queued' || state === 'building')
  if (running !== undefined)
    throw new AppError(
      'conflict',
      `The export ${running.id} is being built. Wait for it, or delete your exports first.`,
    )
  if (rows.length >= MOST)
    throw new AppError(
      'conflict',
      `There are already ${MOST} exports, which is the limit. Delete them first.`,
    )
}

/** Deletes an export and its file. Returns 1, or 0 if another request deleted it first. */
async function removed(db: Kysely<Schema>, account: string, id: string): Promise<number> {
  // From now on no builder can write to the export and no link is valid for it, even if the steps
  // below are interrupted.
  await transactionWithMarks(db, async (trx) => {
    await trx
      .updateTable('exports')
      .set({
        state: 'failed',
        builder: null,
        builder_until: null,
        error: 'This export is being deleted. If it does not disappear, delete your exports again.',
      })
      .where('id', '=', id)
      .execute()
    markChanged(trx, ['exports'], { accounts: [account] })
  })
  await deleteParts(db, id)
  return transactionWithMarks(db, async (trx) => {
    const { numDeletedRows: deleted } = await trx
      .deleteFrom('exports')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    markChanged(trx, ['exports'], { accounts: [account] })
    return Number(deleted)
  })
}

/**
 * Creates a link to a finished export.
 * @param of `holder`: the id of the caller's token, or null for a session; `tokenExpiry`: when that
 *   token expires, Unix milliseconds, or null
 * @throws AppError `not_found`, `export_not_ready`
 */
async function linkTo(
  ground: ServiceContext,
  of: { id: string; account: string; holder: string | null; tokenExpiry: number | null },
): Promise<DownloadLink> {
  const { id, account, holder, tokenExpiry } = of
  requireId(PREFIX, id, 'export')
  const row = await ground.db
    .selectFrom('exports')
    .select(['state', 'expires_at'])
    .where('id', '=', id)
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (row === undefined) throw notFound('export')
  const state = exportState(row, ground.now())
  if (state !== 'ready') throw notReady(state)
  const until = Math.min(row.expires_at as number, tokenExpiry ?? Infinity)
  const { url, expires } = await newDownloadLinks(ground).linkTo({ id, holder, until })
  return { url, reachable: reachableFrom(url), expires_at: timeAt(expires) }
}

/**
 * Returns the operations on an account's exports.
 * @param exporter builds the requested exports
 */
export const exports = (ground: ServiceContext, exporter: Exporter): Service['exports'] => {
  const { db, now } = ground
  return {
    list: async (page, { account }) => {
      const rows = await pageRows(
        db.selectFrom('exports').selectAll().where('account_id', '=', account),
        page,
        PREFIX,
      )
      const at = now()
      // A builder may have stopped without a trace, so the exporter looks for work again.
      if (rows.some(({ state }) => state === 'queued' || state === 'building')) exporter.wake()
      return pageOf(
        rows.map((row) => resource(row, at)),
        page,
      )
    },

    create: async (_, { account }) => {
      const id = await transactionWithMarks(db, async (trx) => {
        const at = now()
        // Because of this lock, of two concurrent requests the second sees the export of the first.
        await lockAccount(trx, account)
        await requireRoom(trx, account)
        await countTryIn(trx, account, BRAKE, at)
        const row = { id: newId(PREFIX, at), account_id: account, state: 'queued' } as const
        const nothing = { size_bytes: null, error: null, builder: null, builder_until: null }
        const times = { created_at: at, finished_at: null, expires_at: null }
        await trx
          .insertInto('exports')
          .values({ ...row, ...nothing, ...times, progress: 0 })
          .execute()
        markChanged(trx, ['exports'], { accounts: [account] })
        return row.id
      })
      exporter.wake()
      return { id }
    },

    clear: async (_, { account }) => {
      const rows = await db
        .selectFrom('exports')
        .select('id')
        .where('account_id', '=', account)
        .execute()
      let deleted = 0
      for (const { id } of rows) deleted += await removed(db, account, id)
      return { deleted }
    },

    download: async ({ id }, { account, token }) => {
      const expiry = token === null ? null : await machineTokenExpiry(db, token)
      return linkTo(ground, { id, account, holder: token, tokenExpiry: expiry })
    },
  }
}

/**
 * Links for the API tokens of a daemon. The server has no table of these tokens, so the daemon
 * sends the token's id and expiry.
 */
export const downloads = (ground: ServiceContext): Service['downloads'] => ({
  create: ({ body }, { account }) => {
    const { export_id: id, token_id: holder, token_expires_at: expiry } = body
    const tokenExpiry = expiry === null ? null : Date.parse(expiry)
    return linkTo(ground, { id, account, holder, tokenExpiry })
  },

  end: async ({ id }, { account }) => {
    requireId('tok_', id, 'token')
    await newDownloadLinks(ground).end(account, id)
  },
})
