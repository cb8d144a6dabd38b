/** Pages of key logs and rosters: a log can be larger than an answer that devices read. */
import type { Kysely } from 'kysely'
import type { Schema } from './schema.ts'

/** What one answer holds of a log. It holds at least one entry, where there is one. */
export interface PageLimits {
  readonly entries: number
  /** Of all entries together. */
  readonly characters: number
}

/** A quarter of the 16 MiB that a device reads of an answer. */
export const LOG_PAGES: PageLimits = { entries: 1000, characters: 4 * 1024 * 1024 }

/** Part of a log. */
export interface LogPage {
  readonly entries: string[]
  /** The place of the newest entry of the log; -1 where there is no log. */
  readonly seq: number
}

/** Those of the entries, from the first on, that one answer holds. */
export function pageOf(entries: readonly string[], limits: PageLimits): string[] {
  let size = 0
  const end = entries.findIndex(({ length }, at) => {
    size += length
    return at === limits.entries || (at > 0 && size > limits.characters)
  })
  return end === -1 ? [...entries] : entries.slice(0, end)
}

interface Rows {
  readonly rows: readonly { readonly entry: string }[]
  readonly newest: { readonly seq: number | null } | undefined
}

const logPage = ({ rows, newest }: Rows, limits: PageLimits): LogPage => ({
  entries: pageOf(
    rows.map(({ entry }) => entry),
    limits,
  ),
  seq: newest?.seq ?? -1,
})

/** The entries of a key log from place `from` on, as many as one answer holds. */
export async function keyLogPage(
  db: Kysely<Schema>,
  limits: PageLimits,
  { account, from }: { account: string; from: number },
): Promise<LogPage> {
  const log = db.selectFrom('key_log_entries').where('account_id', '=', account)
  const rows = await log
    .select('entry')
    .where('seq', '>=', from)
    .orderBy('seq')
    .limit(limits.entries)
    .execute()
  // Read after the entries, so that a log that grows meanwhile is read on.
  const newest = await log.select(({ fn }) => fn.max('seq').as('seq')).executeTakeFirst()
  return logPage({ rows, newest }, limits)
}

/** The same of the roster of a connection. */
export async function rosterPage(
  db: Kysely<Schema>,
  limits: PageLimits,
  { connection, from }: { connection: string; from: number },
): Promise<LogPage> {
  const roster = db.selectFrom('roster_entries').where('connection_id', '=', connection)
  const rows = await roster
    .select('entry')
    .where('seq', '>=', from)
    .orderBy('seq')
    .limit(limits.entries)
    .execute()
  const newest = await roster.select(({ fn }) => fn.max('seq').as('seq')).executeTakeFirst()
  return logPage({ rows, newest }, limits)
}

/** Whether a page that begins at place `from` reaches the newest entry. */
export const isLast = ({ entries, seq }: LogPage, from: number): boolean =>
  from + entries.length > seq
