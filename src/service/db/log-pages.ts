/** Pages of key logs and rosters: a log can exceed the size of an answer that devices read. */
import type { Kysely } from 'kysely'
import type { Schema } from './schema.ts'

/** The limits of one answer. It holds at least one entry if there is any. */
export interface PageLimits {
  readonly entries: number
  /** Of all entries together. */
  readonly characters: number
}

/** A quarter of the 16 MiB limit of a device for an answer. */
export const LOG_PAGES: PageLimits = { entries: 1000, characters: 4 * 1024 * 1024 }

/** Part of a log. */
interface StoredLogPage {
  readonly entries: string[]
  /** The position of the newest entry in the log; -1 if there is no log. */
  readonly seq: number
}

/** Returns as many of the entries as fit into one answer. */
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

/** Returns the entries of a key log from position `from` on, as many as fit into one answer. */
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
  // Read after the entries, so that the client continues if the log grows in between.
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
