/**
 * Migrations while another transaction holds a lock on their table: they wait briefly, so that
 * requests go on, and try again.
 */
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import pg from 'pg'
import { EXIT } from '../../../src/errors.ts'
import { postgresql } from '../../../src/service/db/engine.ts'
import {
  ACCOUNT_MIGRATIONS,
  ACCOUNT_VERSIONS,
  type LockPatience,
  migrate,
} from '../../../src/service/db/migrations.ts'
import { until } from '../../until.ts'
import { withoutPostgres } from '../engines.ts'
import { newDatabase } from '../shared-postgres.ts'

const next = ACCOUNT_VERSIONS.newest + 1
const LATER = [
  ...ACCOUNT_MIGRATIONS,
  { version: next, statements: () => ['alter table stamps add column synthetic text'] },
] as const

async function connect(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  t.after(() => client.end())
  return client
}

/** A database, with a transaction that has read the table of the next migration. */
async function lockedDatabase(t: TestContext) {
  const url = await newDatabase()
  const [reader, other] = [await connect(t, url), await connect(t, url)]
  await reader.query('begin')
  await reader.query('select 1 from stamps')
  const lines: string[] = []
  const migrated = async (patience: Partial<LockPatience>) => {
    const engine = await postgresql(url)
    const log = (_: string, event: string, fields?: object) =>
      lines.push(`${event} ${JSON.stringify(fields)}`)
    try {
      const all = { waitMs: 100, attempts: 1000, pauseMs: 1, longestMs: 1, ...patience }
      await migrate(engine, log, LATER, all)
    } finally {
      await engine.close()
    }
  }
  const query = async <T extends object>(text: string) => (await other.query<T>(text)).rows
  const isWaiting = async () =>
    (
      await query(
        `select 1 from pg_locks join pg_database on pg_database.oid = database
       where datname = current_database() and not granted and mode = 'AccessExclusiveLock'
       and relation = 'stamps'::regclass`,
      )
    ).length > 0
  const version = async () =>
    (await query<{ version: number }>('select max(version) as version from schema_version'))[0]
      ?.version
  return { reader, query, lines, migrated, isWaiting, version }
}

describe('a migration of a table that a transaction has locked', { skip: withoutPostgres }, () => {
  it('does not block others for longer than one wait, and succeeds after the transaction', async (t) => {
    const { reader, query, lines, migrated, isWaiting, version } = await lockedDatabase(t)
    const migrating = migrated({})
    await until('the migration waits', isWaiting)
    // This query waits behind the migration, until the migration gives up for now.
    await query('select 1 from stamps')
    assert.equal(await version(), next - 1)
    await until('a second attempt', async () => lines.length > 1 && (await isWaiting()))
    await query('select 1 from stamps')
    await reader.query('commit')
    await migrating
    assert.equal(await version(), next)
    assert.equal(
      lines[0],
      `migration waits for another transaction {"version":${next},"attempt":1}`,
    )
  })

  it('fails after the last attempt, changes nothing, and names the transaction', async (t) => {
    const { reader, query, lines, migrated, version } = await lockedDatabase(t)
    const before = await query("select * from pg_attribute where attrelid = 'stamps'::regclass")
    const pid = Number((await reader.query('select pg_backend_pid() as pid')).rows[0].pid)
    await assert.rejects(migrated({ waitMs: 10, attempts: 3 }), {
      exit: EXIT.failed,
      message: new RegExp(
        `not migrated to version ${next}: at each of 3 attempts, .* longer than 10 ms\\. Nothing of this version was applied\\. .* process ${pid}, since 2.*pg_terminate_backend\\(${pid}\\)`,
      ),
    })
    assert.equal(lines.length, 2)
    assert.equal(await version(), next - 1)
    assert.deepEqual(
      await query("select * from pg_attribute where attrelid = 'stamps'::regclass"),
      before,
    )
  })

  it('waits without a limit for another server that migrates', async (t) => {
    const url = await newDatabase()
    const other = await connect(t, url)
    const [engine, holder] = [await postgresql(url), await connect(t, url)]
    t.after(() => engine.close())
    for (const text of engine.lock(1)) await holder.query(text)
    // The wait for the other server is not limited, not even by the settings of the database.
    const name = new URL(url).pathname.slice(1)
    await other.query(`alter database ${name} set lock_timeout = 50`)
    await other.query(`alter database ${name} set statement_timeout = 200`)
    const migrating = migrate(engine, undefined, LATER, {
      waitMs: 1000,
      attempts: 1,
      pauseMs: 1,
      longestMs: 1,
    })
    await until('the migration waits', async () => {
      const { rowCount } = await other.query(
        `select 1 from pg_stat_activity where datname = current_database()
         and wait_event = 'advisory' and clock_timestamp() - query_start > interval '300 ms'`,
      )
      return rowCount! > 0
    })
    await holder.query('commit')
    await migrating
  })
})
