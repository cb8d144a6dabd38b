/**
 * Opens the database of an account server for tests. It has this program’s version, and the query
 * builder over it.
 */
import type { Kysely } from 'kysely'
import { openEngine, queriesOver } from '../../src/service/db/database.ts'
import type { Schema } from '../../src/service/db/schema.ts'

export interface ServiceDatabase {
  readonly db: Kysely<Schema>
  readonly close: () => Promise<void>
}

/** Opens it as the account server does. */
export async function openServiceDatabase(at: {
  url: string | null
  file: string
}): Promise<ServiceDatabase> {
  const engine = await openEngine(at)
  return { db: await queriesOver(engine), close: () => engine.close() }
}
