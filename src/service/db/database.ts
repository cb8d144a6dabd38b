/** Opens and migrates the account server's database, and creates its query builder. */
import type { Kysely } from 'kysely'
import type { DatabaseConfig } from '../../config/database.ts'
import { StartError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { damaged, isDamage, unopened } from '../../storage/database-file.ts'
import { type Engine, databaseAddress, postgresql, sqlite } from './engine.ts'
import { migrate, requireKnownFile } from './migrations.ts'
import type { Schema } from './schema.ts'

/**
 * Opens the database and migrates it to the version of this program.
 * @param at `url`: a PostgreSQL URL, or null for SQLite in `file`; `database`: the connections to
 *   PostgreSQL; `log` receives a message for a migration
 * @throws StartError `stateOlder` or `stateNewer` for a database of a version that this program
 *   does not support, which then stays unchanged; `failed` if the database cannot be reached or
 *   opened
 */
export async function openEngine(at: {
  url: string | null
  file: string
  database?: DatabaseConfig
  log?: Log
}): Promise<Engine> {
  const { url, file, database, log } = at
  try {
    const engine =
      url === null
        ? sqlite(file, (found) => requireKnownFile(found, file))
        : await postgresql(url, database)
    return await migrated(engine, log)
  } catch (error) {
    if (error instanceof StartError) throw error
    if (url === null) throw isDamage(error) ? damaged(file, error) : unopened(file, error)
    // The message contains only parts of the URL that cannot be secret. The URL may contain a
    // password, and messages are shown in terminals and logs.
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
 * Returns the query builder. Concurrent callers are safe with both engines: on SQLite's only
 * connection, one transaction or query runs at a time. A transaction may run several times, so its
 * work must not have effects outside the database, except through `afterwards`.
 */
export async function queriesOver(engine: Engine): Promise<Kysely<Schema>> {
  const kysely = await import('kysely')
  class Repeating extends kysely.Kysely<Schema> {
    override transaction() {
      const once = super.transaction()
      const execute = once.execute.bind(once)
      const repeating: typeof execute = (work) => engine.repeating(() => execute(work))
      return Object.assign(once, { execute: repeating })
    }
  }
  return new Repeating({ dialect: await engine.dialect() })
}

/**
 * Returns why a connection failed. If the host has several addresses, there is one reason for each.
 */
function reason(error: unknown): string {
  const causes = error instanceof AggregateError ? error.errors : [error]
  return causes.map((cause) => (cause instanceof Error ? cause.message : String(cause))).join('; ')
}
