/** Queries of hot paths, which are built and compiled at their first use and not at each. */
import type { Compilable, CompiledQuery, Kysely, QueryResult } from 'kysely'
import type { Schema } from './schema.ts'

/** Stands for a value of a later execution. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/**
 * Returns a function that executes a query with values. The query is compiled once for each engine.
 * @param build builds the query. It may pass the values only to the query builder, because it
 *   receives placeholders.
 */
export function compiledOnce<Values extends object, Row>(
  build: (db: Kysely<Schema>, values: Values) => Compilable<Row>,
): (db: Kysely<Schema>, values: Values) => Promise<QueryResult<Row>> {
  const compiled = new WeakMap<object, CompiledQuery<Row>>()
  const placeholders = new Proxy({}, { get: (_, name: string) => new Placeholder(name) }) as Values

  return (db, values) => {
    const { adapter } = db.getExecutor()
    const query = compiled.get(adapter) ?? build(db, placeholders).compile()
    compiled.set(adapter, query)
    const parameters = query.parameters.map((parameter) =>
      parameter instanceof Placeholder ? values[parameter.name as keyof Values] : parameter,
    )
    return db.executeQuery({ ...query, parameters })
  }
}
