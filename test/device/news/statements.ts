/** Counts what a program asks its databases, at their drivers. */
import { basename } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import pg from 'pg'

type Method = (this: object, ...of: readonly unknown[]) => unknown
type Prepare = (this: DatabaseSync, text: string) => StatementSync

const methodOf = (of: object, name: string) => Reflect.get(of, name) as Method

/**
 * Returns the statements that run from now on, on SQLite databases in files with this name. Call it
 * before the database is opened.
 */
export function statementsOnSqlite(t: Pick<TestContext, 'mock'>, file: string): string[] {
  const seen: string[] = []
  const isCounted = (database: DatabaseSync) => basename(database.location() ?? '') === file
  const prepare = methodOf(DatabaseSync.prototype, 'prepare') as Prepare
  const exec = methodOf(DatabaseSync.prototype, 'exec')
  t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, text: string) {
    if (isCounted(this)) seen.push(text)
    return exec.call(this, text)
  })
  t.mock.method(DatabaseSync.prototype, 'prepare', function (this: DatabaseSync, text: string) {
    const statement = prepare.call(this, text)
    if (!isCounted(this)) return statement
    for (const name of ['all', 'run', 'get'] as const) {
      const call = statement[name].bind(statement) as (...values: readonly unknown[]) => unknown
      const value = (...values: readonly unknown[]) => {
        seen.push(text)
        return call(...values)
      }
      Object.defineProperty(statement, name, { value })
    }
    return statement
  })
  return seen
}

/** Returns the statements that run on PostgreSQL from now on. */
export function statementsOnPostgres(t: Pick<TestContext, 'mock'>): string[] {
  const seen: string[] = []
  const query = methodOf(pg.Client.prototype, 'query')
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...of: unknown[]) {
    const [first] = of
    seen.push(typeof first === 'string' ? first : (first as { text: string }).text)
    return query.apply(this, of)
  })
  return seen
}
