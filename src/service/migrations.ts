/**
 * The schema, as a forward list of versions. Each runs in a transaction of its own under a lock that keeps other replicas
 * out, and is recorded there; a database from a newer program is left as it is.
 */
import { StartError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Engine, Query } from './engine.ts'
import { third } from './version-3.ts'
import { fourth } from './version-4.ts'
import { fifth } from './version-5.ts'
import { sixth } from './version-6.ts'
import { seventh } from './version-7.ts'
import { eighth } from './version-8.ts'
import { first, second } from './versions.ts'

interface Version {
  readonly statements: (id: string) => readonly string[]
  /**
   * Changes rows after the statements. It makes no tables or indexes: `statementsUntil`, with which
   * a restore compares the schema, would lack them.
   */
  readonly more?: (query: Query) => Promise<void>
  /** Statements that need the rows which `more` has changed. */
  readonly last?: readonly string[]
}

const VERSIONS: readonly Version[] = [
  { statements: first },
  { statements: second, more: bindSessions },
  { statements: third },
  {
    statements: fourth,
    more: nameWhatIsThere,
    last: ['create unique index emails_by_id on emails (id)'],
  },
  {
    statements: fifth,
    more: nameMembers,
    last: [
      'create unique index organisation_members_in_order on organisation_members (organisation_id, member_id)',
    ],
  },
  { statements: sixth },
  { statements: seventh },
  { statements: eighth },
]

/** The version that this program brings a database to. */
export const NEWEST_VERSION = VERSIONS.length

const LEDGER = `create table if not exists schema_version (
    version integer primary key,
    applied_at text not null default current_timestamp
  )`

/** What makes the tables and indexes of a version in a new database of SQLite, without rows. */
export const statementsUntil = (version: number): readonly string[] => [
  LEDGER,
  ...VERSIONS.slice(0, version).flatMap(({ statements, last = [] }) => [
    ...statements('text'),
    ...last,
  ]),
]

/** Sessions are bound to the authentication key of their device, which only its entry of the key log names. */
async function bindSessions(query: Query): Promise<void> {
  const rows = await query(
    'select account_id, entry from key_log_entries where seq = 0 order by account_id',
  )
  if (rows.length === 0) return
  const [{ verifyKeyLog }, { thumbprint }] = await Promise.all([
    import('../crypto/key-log-v1.ts'),
    import('../crypto/jwk.ts'),
  ])
  for (const { account_id, entry } of rows)
    for (const { id, keys } of verifyKeyLog(String(account_id), [String(entry)]).active)
      // Both are checked, and their alphabets know no quote.
      await query(`update devices set auth_kid = '${thumbprint(keys.auth)}' where id = '${id}'`)
}

async function nameWhatIsThere(query: Query): Promise<void> {
  await nameEmails(query)
  await nameRosterAccounts(query)
}

/** So many roster entries are read at once. */
const BATCH = 500

/** Whom rosters name stands in their signed entries alone so far. */
async function nameRosterAccounts(query: Query): Promise<void> {
  for (let last = { connection: '', seq: -1 }; ;) {
    // An id of a connection knows no quote.
    const { connection, seq } = last
    const rows = await query(
      `select connection_id, seq, entry from roster_entries
       where connection_id > '${connection}' or (connection_id = '${connection}' and seq > ${seq})
       order by connection_id, seq limit ${BATCH}`,
    )
    const newest = rows.at(-1)
    if (newest === undefined) return
    const [{ parseJws }, { pseudonymOf }] = await Promise.all([
      import('../crypto/jws.ts'),
      import('./departed.ts'),
    ])
    // Entries of any version of the protocol name accounts so.
    const namedIn = (entry: string) => {
      const { payload } = parseJws(entry, 'roster+jws')
      return ['actor', 'member'].map((name) => payload.get(name)).filter((one) => one !== undefined)
    }
    for (const row of rows)
      for (const account of namedIn(String(row['entry'])).map(String))
        await query(
          `insert into roster_accounts (connection_id, account_hash)
           values ('${String(row['connection_id'])}', '${pseudonymOf(account)}') on conflict do nothing`,
        )
    last = { connection: String(newest['connection_id']), seq: Number(newest['seq']) }
  }
}

/** Mailboxes are listed by ids, which begin with their time. */
async function nameEmails(query: Query): Promise<void> {
  const rows = await query('select address, verified_at from emails where id is null')
  if (rows.length > 0) {
    const { newId } = await import('../crypto/id.ts')
    for (const { address, verified_at } of rows)
      // The alphabet of mailboxes here knows one kind of quote.
      await query(
        `update emails set id = '${newId('eml_', Number(verified_at))}' where address = '${String(address).replaceAll("'", "''")}'`,
      )
  }
}

/** Members of organisations are listed by ids, which begin with the time at which they joined. */
async function nameMembers(query: Query): Promise<void> {
  const rows = await query(
    'select organisation_id, account_id, joined_at from organisation_members where member_id is null',
  )
  const { newId } = await import('../crypto/id.ts')
  for (const row of rows) {
    const [organisation, account] = [row['organisation_id'], row['account_id']].map(String)
    // The alphabet of ids knows no quote.
    await query(
      `update organisation_members set member_id = '${newId('mem_', Number(row['joined_at']))}'
       where organisation_id = '${organisation}' and account_id = '${account}'`,
    )
  }
}

/**
 * Apply the next version, if there is one. Under the lock each program sees what the one before it has done.
 * @returns whether there was one
 */
async function step(query: Query, { idType, copies }: Engine): Promise<boolean> {
  await query(LEDGER)
  const [row] = await query('select max(version) as version from schema_version')
  const version = Number(row?.['version'] ?? 0)
  if (version > VERSIONS.length)
    throw new StartError(
      'stateNewer',
      `The account database has version ${version}, this program knows ${VERSIONS.length}: start the newer program.${copies?.advice(VERSIONS.length) ?? ''}`,
    )
  const next = VERSIONS[version]
  if (next === undefined) return false
  for (const text of next.statements(idType)) await query(text)
  await next.more?.(query)
  for (const text of next.last ?? []) await query(text)
  await query(`insert into schema_version (version) values (${version + 1})`)
  return true
}

/** The version of a database in a file, 0 for a new one. */
async function versionIn(query: Query): Promise<number> {
  const [table] = await query(`select 1 from sqlite_schema where name = 'schema_version'`)
  if (table === undefined) return 0
  const [row] = await query('select max(version) as version from schema_version')
  return Number(row?.['version'] ?? 0)
}

/**
 * Bring the database to the version of this program, from whatever version it has. Of one in a file that is older, a copy is made
 * before. Throws StartError `stateNewer` when it is ahead of this program, `failed` where that copy cannot be made, and what the
 * database throws; a version is applied whole or not at all, and in a file all of them together.
 * @param log hears when it is brought forward
 */
export const migrate = (engine: Engine, log?: Log): Promise<void> =>
  engine.session(async (query) => {
    const { copies } = engine
    const from = copies === null ? 0 : await versionIn(query)
    const copy = from > 0 && from < VERSIONS.length ? copies?.keep(from) : undefined
    for (let more = true; more;) {
      for (const text of engine.lock) await query(text)
      try {
        // Of a crash between two, the next start would keep a copy of the half-way version instead of the one that somebody had.
        more = false
        while (await step(query, engine)) {
          more = true
          if (copies === null) break
        }
        await query('commit')
      } catch (error) {
        // The first error says what went wrong; a broken connection cannot roll back, and need not.
        await query('rollback').catch(() => undefined)
        throw error
      }
    }
    if (copy === undefined) return
    copies?.keepOnly(from)
    log?.('info', 'account database brought forward', { from, to: VERSIONS.length, copy })
  })
