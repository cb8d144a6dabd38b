/** Fills a database in PostgreSQL by statements. */
import pg from 'pg'

/**
 * Fills an empty database of this program's version.
 * @param statements insert rows that keep all constraints
 * @returns the size of the database in bytes
 */
export async function fillBy(url: string, statements: readonly string[]): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  // The rows of these statements are right, and a trigger for each would take most of the time.
  await client.query('set session_replication_role = replica')
  for (const text of statements) await client.query(text)
  await client.query('vacuum (freeze, analyze)')
  await client.query('checkpoint')
  const { rows } = await client.query<{ size: string }>(
    'select pg_database_size(current_database()) as size',
  )
  await client.end()
  return Number(rows[0]!.size)
}
