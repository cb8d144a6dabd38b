/** How PostgreSQL answers what the account server asks: the queries as they were asked, and their plans. */
import pg from 'pg'

/** One statement, with its parameters. */
export interface Query {
  readonly text: string
  readonly values: readonly unknown[]
}

let listener: ((query: Query) => void) | null = null

/**
 * Hear what this process asks of PostgreSQL while something runs. The driver belongs to the servers that are measured, so it is
 * heard where they call it.
 * @returns one query of each text, in the order in which they came first
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

/** Begin to hear; before that, `overheard` answers nothing. */
export function tap(): void {
  const { prototype } = pg.Client
  const query = Reflect.get(prototype, 'query') as (...given: unknown[]) => unknown
  Object.assign(prototype, {
    query(...given: unknown[]) {
      const [text, values = []] = given
      if (typeof text === 'string') listener?.({ text, values: values as unknown[] })
      return Reflect.apply(query, this, given)
    },
  })
}

/** A node of a plan, as EXPLAIN gives it. */
interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly Plans?: readonly Plan[]
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)]

function told(plan: Plan): string {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '' } = plan
  return [type, table, index].filter((text) => text !== '').join(' ')
}

/** A query with its plan, as lines to print. */
export interface Explained {
  readonly text: string
  readonly plan: string
  /** The tables that are read from end to end. */
  readonly scanned: readonly string[]
}

/** The plan of a query; null for what has none. */
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
  return { text, plan: all.map(told).join(' ← '), scanned }
}

/** The tables that have at least so many rows, once their statistics are up to date. */
export async function tablesOf(client: pg.Client, least: number): Promise<string[]> {
  // What autovacuum does in time.
  await client.query('analyze')
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace and reltuples >= $1 order by relname`,
    [least],
  )
  return rows.map(({ name }) => name)
}
