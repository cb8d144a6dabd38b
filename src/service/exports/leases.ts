/**
 * Leases of exports. A builder must have a lease to build an export. If its server stops, the lease
 * expires, and another builder builds the export again from the beginning. Every write checks that
 * the lease is still valid, so that two builders can never both write to one export.
 */
import { setImmediate } from 'node:timers/promises'
import type { ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

/** The size of a stored part of a file, in bytes. */
export const PIECE_BYTES = 64 * 1024

/** How many parts one query deletes. More would noticeably delay other requests. */
const AT_ONCE = 16

/** Deletes an export's file, a few parts at a time. The export must have no builder. */
export async function deleteParts(db: Kysely<Schema>, id: string): Promise<void> {
  for (;;) {
    const rows = await db
      .selectFrom('export_parts')
      .select('seq')
      .where('export_id', '=', id)
      .orderBy('seq')
      .limit(AT_ONCE)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    await db
      .deleteFrom('export_parts')
      .where('export_id', '=', id)
      .where('seq', '<=', last.seq)
      .execute()
    await setImmediate()
  }
}

/** How long a lease is valid after each write, in milliseconds. */
const LEASE_MS = 30_000

/** An export that is being built. Each attempt has its own builder id. */
export interface Job {
  readonly id: string
  readonly account: string
  readonly builder: string
}

/** Thrown if the lease is lost, because the export was deleted or another builder has taken it. */
export class Lost extends Error {}

/** Returns a condition for exports that have no builder. */
const isFree = (at: number) => (of: ExpressionBuilder<Schema, 'exports'>) =>
  of.or([
    of('state', '=', 'queued'),
    of.and([of('state', '=', 'building'), of('builder_until', '<=', at)]),
  ])

interface Leases {
  /**
   * Takes the oldest export without a builder, and deletes the parts that an earlier attempt
   * stored. Returns null if there is none.
   */
  readonly take: () => Promise<Job | null>
  /**
   * Renews the lease, and stores the progress in percent if it is given.
   * @throws Lost
   */
  readonly hold: (db: Kysely<Schema>, job: Job, progress?: number) => Promise<void>
  /**
   * Writes an export's final values and ends the lease.
   * @throws Lost
   */
  readonly end: (trx: Transaction<Schema>, job: Job, values: End) => Promise<void>
}

/** The final values of an export. */
type End = Pick<Schema['exports'], 'state'> & Partial<Schema['exports']>

export function newLeases({ db, now }: Pick<ServiceContext, 'db' | 'now'>): Leases {
  async function set(by: Kysely<Schema>, { id, builder }: Job, values: Partial<Schema['exports']>) {
    const { numUpdatedRows: renewed } = await by
      .updateTable('exports')
      .set(values)
      .where('id', '=', id)
      .where('builder', '=', builder)
      .executeTakeFirstOrThrow()
    if (renewed !== 1n) throw new Lost('The lease of an export was lost.')
  }

  /** Tries to take an export. If several builders try at the same time, only one gets true. */
  const isTaken = ({ id, account, builder }: Job, at: number) =>
    transactionWithMarks(db, async (trx) => {
      const { numUpdatedRows: taken } = await trx
        .updateTable('exports')
        .set({ state: 'building', progress: 0, builder, builder_until: at + LEASE_MS })
        .where('id', '=', id)
        .where(isFree(at))
        .executeTakeFirstOrThrow()
      if (taken === 1n) markChanged(trx, ['exports'], { accounts: [account] })
      return taken === 1n
    })

  return {
    take: async () => {
      for (;;) {
        const at = now()
        const found = await db
          .selectFrom('exports')
          .select(['id', 'account_id as account'])
          .where(isFree(at))
          .orderBy('id')
          .limit(1)
          .executeTakeFirst()
        if (found === undefined) return null
        const job = { ...found, builder: newId('', at) }
        if (!(await isTaken(job, at))) continue
        // This is safe now, because the previous builder can no longer write.
        await deleteParts(db, job.id)
        return job
      }
    },

    hold: (by, job, progress) =>
      set(by, job, {
        builder_until: now() + LEASE_MS,
        ...(progress === undefined ? {} : { progress }),
      }),

    end: async (trx, job, values) => {
      await set(trx, job, { ...values, builder: null, builder_until: null })
      markChanged(trx, ['exports'], { accounts: [job.account] })
    },
  }
}
