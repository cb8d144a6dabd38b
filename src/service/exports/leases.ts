/**
 * Who builds an export. Whoever takes one holds it by a lease; when its server dies, another takes it up from the start. Every
 * write asks whether the lease is still held, so of two that build the same, one has no effect.
 */
import type { ExpressionBuilder, Kysely } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import { deleteParts } from './parts.ts'
import type { Ground } from '../context.ts'
import type { Schema } from '../db/schema.ts'

/** A builder that wrote nothing for this long is gone. */
const LEASE_MS = 30_000

/** What is being built, and by whom: each attempt has an id of its own. */
export interface Job {
  readonly id: string
  readonly account: string
  readonly builder: string
}

/** The lease is not held any more: the export was deleted, or another builds it. */
export class Lost extends Error {}

/** What nobody builds. */
const isFree = (at: number) => (of: ExpressionBuilder<Schema, 'exports'>) =>
  of.or([
    of('state', '=', 'queued'),
    of.and([of('state', '=', 'building'), of('builder_until', '<=', at)]),
  ])

export interface Leases {
  /** The oldest that nobody builds, taken; null when there is none. What an earlier attempt left of it is deleted. */
  readonly take: () => Promise<Job | null>
  /** Write of an export what only its builder may, and go on holding it. Throws Lost. */
  readonly hold: (db: Kysely<Schema>, job: Job, progress?: number) => Promise<void>
  /** The same for the last time. Throws Lost. */
  readonly end: (db: Kysely<Schema>, job: Job, values: End) => Promise<void>
}

/** What becomes of an export whose builder is done with it. */
type End = Pick<Schema['exports'], 'state'> & Partial<Schema['exports']>

export function newLeases({ db, now }: Pick<Ground, 'db' | 'now'>): Leases {
  async function set(by: Kysely<Schema>, { id, builder }: Job, values: Partial<Schema['exports']>) {
    const { numUpdatedRows: held } = await by
      .updateTable('exports')
      .set(values)
      .where('id', '=', id)
      .where('builder', '=', builder)
      .executeTakeFirstOrThrow()
    if (held !== 1n) throw new Lost('The lease of an export is not held any more.')
  }

  /** Of several that try at once, one takes it. */
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
        // Whoever left it can write no more.
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
