/** The pieces in which the file of an export is kept. */
import { setImmediate } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Schema } from '../db/schema.ts'

/** In bytes. */
export const PIECE_BYTES = 64 * 1024

/** So many are deleted at once: of more, everybody else would notice. */
const AT_ONCE = 16

/** Delete the file of an export that nobody builds, a little at a time. */
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
