/**
 * Opens the database of the account server, migrates it, and creates the query builder for it.
 */
import type { Kysely } from 'kysely'
import { StartError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { damaged, isDamage, unopened } from '../../storage/database-file.ts'
import { type Engine, databaseAddress, postgresql, sqlite } from './engine.ts'
import { migrate, requireKnownFile } from './migrations.ts'
import type { Schema } from './schema.ts'

/**
 * Opens the database and migrates it to the version of this program.
 * @param at `url`: a PostgreSQL URL, or null for SQLite in `file`; `log` receives a message for a
 *   migration
 * @throws StartError `stateOlder` and `stateNewer` for a database that this program does not read,
 *   which stays unchanged; `failed` if it cannot be reached or opened
 */
export async function openEngine(at: {
  url: string | null
  file: string
  log?: Log
}): Promise<Engine> {
  const { url, file, log } = at
  try {
    const engine =
      url === null ? sqlite(file, (found) => requireKnownFile(found, file)) : await postgresql(url)
    return await migrated(engine, log)
  } catch (error) {
    if (error instanceof StartError) throw error
    if (url === null) throw isDamage(error) ? damaged(file, error) : unopened(file, error)
    // Only the parts of the URL without secrets: messages go to terminals and logs, and a URL may
    // contain a password.
    throw new StartError(
      'failed',
      `The account database cannot be opened (PostgreSQL at ${databaseAddress(url)}): ${reason(error)}.`,
      error,
    )
  }
}

async function migrated(engine: Engine, log?: Log): Promise<Engine> {
  try {
    await migrate(engine, log)
  } catch (error) {
    await engine.close()
    throw error
  }
  return engine
}

/**
 * Returns the query builder. It uses SQLite's one connection for one transaction or query at a
 * time, so concurrent callers are safe with both engines.
 */
export async function queriesOver(engine: Engine): Promise<Kysely<Schema>> {
  const { Kysely } = await import('kysely')
  return new Kysely<Schema>({ dialect: await engine.dialect() })
}

/**
 * Returns why an attempt failed. A host with several addresses fails with one reason for each.
 */
function reason(error: unknown): string {
  const causes = error instanceof AggregateError ? error.errors : [error]
  return causes.map((cause) => (cause instanceof Error ? cause.message : String(cause))).join('; ')
}
