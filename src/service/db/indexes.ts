/**
 * Indexes that only make queries faster. PostgreSQL builds them while servers read and write the
 * table, so they are not built in the transaction of a migration.
 */
import type { Migration } from '../../storage/migrations.ts'
import type { StatementsFor } from './engine.ts'

export interface Index {
  readonly name: string
  readonly table: string
  /** The columns or expressions in parentheses, and the condition of a partial index. */
  readonly on: string
}

/** The step to one version of the account database. */
export interface AccountMigration extends Migration<StatementsFor> {
  /**
   * The indexes of the version. No query may depend on them, because in a large database they are
   * built after the migration. A table that is new in this version gets its indexes by
   * `statements`.
   */
  readonly indexes?: readonly Index[]
}

/** @param concurrently whether others may write to the table, which only PostgreSQL supports */
export const creationOf = ({ name, table, on }: Index, concurrently: boolean): string =>
  `create index ${concurrently ? 'concurrently' : ''} if not exists ${name} on ${table} ${on}`
