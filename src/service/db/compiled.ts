/**
 * Queries that are built and compiled once. To build a query takes several times as long as to run
 * it in SQLite, so the queries of frequent requests are compiled at their first use, and then run
 * with other values.
 */
import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Schema } from './schema.ts'

type Value = string | number | null
/** The values of a query, by name. An undefined value makes another query, like a list's length. */
export type QueryValues = Readonly<Record<string, Value | readonly Value[] | undefined>>

/** Stands for a value while a query is built. A list has one placeholder for each item. */
class Placeholder {
  readonly #name: string
  readonly #index: number

  constructor(name: string, index = 0) {
    this.#name = name
    this.#index = index
  }

  valueIn(values: QueryValues): unknown {
    const value = values[this.#name]
    return Array.isArray(value) ? value[Math.min(this.#index, value.length - 1)] : value
  }

  /** Throws if the query that is built compares or prints the value, which is not known yet. */
  [Symbol.toPrimitive](): never {
    throw new Error(`A compiled query must not depend on the value of "${this.#name}".`)
  }
}

/**
 * Returns the number of placeholders for a list: the next power of two. The last item is repeated,
 * so that the number of different queries stays small.
 */
const placesFor = (length: number): number => 2 ** Math.ceil(Math.log2(length))

/** Returns which values are undefined, and how many places the lists have. */
function shapeOf(values: QueryValues): string {
  let shape = ''
  for (const name of Object.keys(values)) {
    const value = values[name]
    if (value === undefined) continue
    shape += Array.isArray(value) ? `${name}:${placesFor(value.length)} ` : `${name} `
  }
  return shape
}

function placeholders(values: QueryValues): QueryValues {
  const made = Object.entries(values).map(([name, value]) => {
    if (value === undefined) return [name, undefined]
    if (!Array.isArray(value)) return [name, new Placeholder(name)]
    const places = Array.from({ length: placesFor(value.length) }, (_, i) => i)
    return [name, places.map((index) => new Placeholder(name, index))]
  })
  return Object.fromEntries(made) as QueryValues
}

/**
 * Returns a function that runs a query and returns its rows.
 * @param build builds the query. It may pass the values only to the query builder: it is called
 *   once for each set of defined values and for each power of two of a list's length, with
 *   placeholders instead of the values. Lists must not be empty.
 */
export function compiledOnce<Values extends { [Name in keyof Values]: QueryValues[string] }, Row>(
  build: (db: Kysely<Schema>, values: Values) => Compilable<Row>,
): (db: Kysely<Schema>, values: Values) => Promise<Row[]> {
  /** By engine, and by shape of the values. */
  const compiled = new WeakMap<object, Map<string, CompiledQuery<Row>>>()

  function queryFor(db: Kysely<Schema>, values: Values): CompiledQuery<Row> {
    const { adapter } = db.getExecutor()
    const known = compiled.get(adapter) ?? new Map<string, CompiledQuery<Row>>()
    const shape = shapeOf(values as QueryValues)
    const query =
      known.get(shape) ?? build(db, placeholders(values as QueryValues) as Values).compile()
    compiled.set(adapter, known.set(shape, query))
    return query
  }

  return async (db, values) => {
    const query = queryFor(db, values)
    const filled = (one: unknown): unknown => {
      if (one instanceof Placeholder) return one.valueIn(values as QueryValues)
      // In PostgreSQL, a list is one parameter, and needs no item twice.
      return Array.isArray(one) ? [...new Set(one.map(filled))] : one
    }
    const parameters = query.parameters.map(filled)
    const { rows } = await db.executeQuery<Row>({ ...query, parameters })
    return rows
  }
}
