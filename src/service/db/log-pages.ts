/**
 * Pages of key logs and rosters. Pages are needed because a log can be larger than the largest
 * answer that a device accepts.
 */
import type { Kysely } from 'kysely'
import type { Schema } from './schema.ts'

/**
 * The limits of one page. A page has at least one entry, if there is one, even if that entry
 * exceeds `characters`.
 */
export interface PageLimits {
  readonly entries: number
  /** The maximum length of all entries together. */
  readonly characters: number
}

/** `characters` is a quarter of the largest answer that a device accepts (16 MiB). */
export const LOG_PAGES: PageLimits = { entries: 1000, characters: 4 * 1024 * 1024 }

/** A page of a log. */
interface StoredLogPage {
  readonly entries: string[]
  /** The position of the newest entry in the log; -1 if there is no log. */
  readonly seq: number
}

/** Returns the first entries, as many as fit into one page. */
export function fittingEntries(entries: readonly string[], limits: PageLimits): string[] {
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

const logPage = ({ rows, newest }: Rows, limits: PageLimits): StoredLogPage => ({
  entries: fittingEntries(
    rows.map(({ entry }) => entry),
    limits,
  ),
  seq: newest?.seq ?? -1,
})

/** Returns the entries of a key log from position `from` on, as many as fit into one page. */
export async function keyLogPage(
  db: Kysely<Schema>,
  limits: PageLimits,
  { account, from }: { account: string; from: number },
): Promise<StoredLogPage> {
  const log = db.selectFrom('key_log_entries').where('account_id', '=', account)
  const rows = await log
    .select('entry')
    .where('seq', '>=', from)
    .orderBy('seq')
    .limit(limits.entries)
    .execute()
  // The newest position is read after the entries. If the log grows in between, the client then
  // sees that the page is not the last.
  const newest = await log.select(({ fn }) => fn.max('seq').as('seq')).executeTakeFirst()
  return logPage({ rows, newest }, limits)
}

/** Returns the entries of a roster as `keyLogPage` does. */
export async function rosterPage(
  db: Kysely<Schema>,
  limits: PageLimits,
  { connection, from }: { connection: string; from: number },
): Promise<StoredLogPage> {
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

/** Returns whether a page that begins at position `from` reaches the newest entry. */
export const isLast = ({ entries, seq }: StoredLogPage, from: number): boolean =>
  from + entries.length > seq
