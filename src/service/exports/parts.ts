/** The parts in which the file of an export is stored. */
import { setImmediate } from 'node:timers/promises'
import type { Kysely } from 'kysely'
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
