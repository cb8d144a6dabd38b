/** What an embedded account holds that a first start does not create. Reads both databases. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { openReadOnly } from '../storage/database-file.ts'

/**
 * The tables that a daemon fills by itself, and the log of checks, which says nothing without
 * contacts. Rows in any other table are something of the user.
 */
const FILLED: readonly string[] = `
  meta logs names profiles events listed replays replays_highest idempotency wrong_tries
  approval_attempts seal_keys schema_version public_code_turns tries key_log_entries enrolment_codes
  sessions access_tokens seen_once used_proofs server_secrets receipt_key sync_marks leases
  verifications
`.split(/\s+/)

/** The tables of which a first start fills one row. */
const ONE_ROW: readonly string[] = ['accounts', 'devices']

/** What rows of a table are, for one and for several. Rows of other tables are "other data". */
const NAMES: Readonly<Record<string, readonly [one: string, many: string]>> = {
  connections: ['connection', 'connections'],
  guest_codes: ['guest code', 'guest codes'],
  guests: ['guest code', 'guest codes'],
  stamps: ['stamp', 'stamps'],
  tokens: ['API token', 'API tokens'],
  webhooks: ['webhook', 'webhooks'],
  trust: ['followed account', 'followed accounts'],
  organisations: ['organisation', 'organisations'],
  machines: ['machine account', 'machine accounts'],
  open_links: ['open link', 'open links'],
  devices: ['more device', 'more devices'],
  accounts: ['more account', 'more accounts'],
}

/** Returns the number of rows of each table. */
function rowsIn(path: string): [table: string, rows: number][] {
  if (!existsSync(path)) return []
  const db = openReadOnly(path)
  try {
    const tables = db
      .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
      .all() as { name: string }[]
    return tables.map(({ name }) => {
      const { rows } = db.prepare(`select count(*) as rows from main."${name}"`).get() as {
        rows: number
      }
      return [name, rows]
    })
  } finally {
    db.close()
  }
}

/**
 * Returns what an embedded account holds, as texts such as "3 guest codes"; none if a first start
 * would create the same. Data that cannot be counted counts as something.
 */
export function holdingsOf({
  stateDir,
  databaseUrl,
}: Pick<Config, 'stateDir' | 'databaseUrl'>): string[] {
  const most = new Map<string, number>()
  let hasMore = databaseUrl !== null
  try {
    for (const file of ['state.db', 'account.db'])
      for (const [table, rows] of rowsIn(join(stateDir, file))) {
        if (FILLED.includes(table)) continue
        const own = ONE_ROW.includes(table) ? rows - 1 : rows
        if (own <= 0) continue
        const name = NAMES[table]?.[1]
        if (name === undefined) hasMore = true
        // Both databases have rows of some things.
        else most.set(name, Math.max(own, most.get(name) ?? 0))
      }
  } catch {
    hasMore = true
  }
  const named = Object.values(NAMES).flatMap(([one, many]) => {
    const count = most.get(many) ?? 0
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
  })
  return named.length === 0 && hasMore ? ['other data'] : [...new Set(named)]
}
