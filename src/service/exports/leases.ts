/**
 * Leases of exports. A builder takes an export by a lease. When its server stops, another builder
 * starts the export again from the beginning. Every write checks that the lease is still valid,
 * so of two builders of one export only one has an effect.
 */
import { setImmediate } from 'node:timers/promises'
import type { ExpressionBuilder, Kysely } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import type { Schema } from '../db/schema.ts'

/** In bytes. */
export const PIECE_BYTES = 64 * 1024

/** The number of parts that one query deletes: more would delay other requests noticeably. */
const AT_ONCE = 16

/** Deletes the file of an export that has no builder, a few parts at a time. */
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

/** A builder without a write for this long counts as gone. */
const LEASE_MS = 30_000

/** An export that is being built. Each attempt has its own builder id. */
export interface Job {
  readonly id: string
  readonly account: string
  readonly builder: string
}

/** The lease is lost: the export was deleted, or another builder has it. */
export class Lost extends Error {}

/** Returns a condition for exports that have no builder. */
const isFree = (at: number) => (of: ExpressionBuilder<Schema, 'exports'>) =>
  of.or([
    of('state', '=', 'queued'),
    of.and([of('state', '=', 'building'), of('builder_until', '<=', at)]),
  ])

interface Leases {
  /**
   * Takes the oldest export without a builder and deletes the parts of an earlier attempt.
   * Returns null when there is none.
   */
  readonly take: () => Promise<Job | null>
  /**
   * Writes to an export and renews the lease.
   * @throws Lost
   */
  readonly hold: (db: Kysely<Schema>, job: Job, progress?: number) => Promise<void>
  /**
   * Writes to an export for the last time and ends the lease.
   * @throws Lost
   */
  readonly end: (db: Kysely<Schema>, job: Job, values: End) => Promise<void>
}

/** The final values of an export. */
type End = Pick<Schema['exports'], 'state'> & Partial<Schema['exports']>

export function newLeases({ db, now }: Pick<ServiceContext, 'db' | 'now'>): Leases {
  async function set(by: Kysely<Schema>, { id, builder }: Job, values: Partial<Schema['exports']>) {
    const { numUpdatedRows: held } = await by
      .updateTable('exports')
      .set(values)
      .where('id', '=', id)
      .where('builder', '=', builder)
      .executeTakeFirstOrThrow()
    if (held !== 1n) throw new Lost('The lease of an export was lost.')
  }

  /** Takes an export. Of several builders at once, one succeeds and gets true. */
  async function isTaken({ id, builder }: Job, at: number) {
    const { numUpdatedRows: taken } = await db
      .updateTable('exports')
      .set({ state: 'building', progress: 0, builder, builder_until: at + LEASE_MS })
      .where('id', '=', id)
      .where(isFree(at))
      .executeTakeFirstOrThrow()
    return taken === 1n
  }

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
        // The previous builder can no longer write.
        await deleteParts(db, job.id)
        return job
      }
    },

    hold: (by, job, progress) =>
      set(by, job, {
        builder_until: now() + LEASE_MS,
        ...(progress === undefined ? {} : { progress }),
      }),

    end: (by, job, values) => set(by, job, { ...values, builder: null, builder_until: null }),
  }
}
