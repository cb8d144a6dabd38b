/** Records the queries that the account server sends to PostgreSQL, and fetches their plans. */
import pg from 'pg'

/** One statement, with its parameters. */
export interface Query {
  readonly text: string
  readonly values: readonly unknown[]
}

let listener: ((query: Query) => void) | null = null

/**
 * Records the queries that this process sends to PostgreSQL while the work runs. The driver
 * belongs to the measured servers, so its calls are intercepted.
 * @returns one query of each text, in the order of first use
 */
export async function overheard(work: () => Promise<unknown>): Promise<Query[]> {
  const queries = new Map<string, Query>()
  listener = (query) => {
    if (!queries.has(query.text)) queries.set(query.text, query)
  }
  try {
    await work()
  } finally {
    listener = null
  }
  return [...queries.values()]
}

/** Starts to intercept queries; before that, `overheard` returns none. */
export function tap(): void {
  const { prototype } = pg.Client
  const query = Reflect.get(prototype, 'query') as (...given: unknown[]) => unknown
  Object.assign(prototype, {
    query(...given: unknown[]) {
      const [first, values = []] = given
      if (typeof first === 'string') listener?.({ text: first, values: values as unknown[] })
      // A named statement has both in its first argument.
      else if (first instanceof Object && 'name' in first) listener?.(first as unknown as Query)
      return Reflect.apply(query, this, given)
    },
  })
}

/** A node of a plan, as in the output of EXPLAIN. */
interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly Plans?: readonly Plan[]
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)]

function describe(plan: Plan): string {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '' } = plan
  return [type, table, index].filter((text) => text !== '').join(' ')
}

/** A query with its plan, as lines to print. */
export interface Explained {
  readonly text: string
  readonly plan: string
  /** The tables that are read by a sequential scan. */
  readonly scanned: readonly string[]
}

/** Returns the plan of a query; null for a statement that has none. */
export async function planOf(
  client: pg.Client,
  { text, values }: Query,
): Promise<Explained | null> {
  if (!/^(select|insert|update|delete)\b/i.test(text)) return null
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `explain (format json) ${text}`,
    [...values],
  )
  const all = nodes((rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan)
  const scanned = all.flatMap(({ 'Node Type': type, 'Relation Name': table }) =>
    type === 'Seq Scan' && table !== undefined ? [table] : [],
  )
  return { text, plan: all.map(describe).join(' ← '), scanned }
}

/** Returns the tables that have at least so many rows, after updating their statistics. */
export async function tablesOf(client: pg.Client, least: number): Promise<string[]> {
  // Autovacuum does this over time.
  await client.query('analyze')
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace and reltuples >= $1 order by relname`,
    [least],
  )
  return rows.map(({ name }) => name)
}
