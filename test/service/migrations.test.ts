/**
 * The account server's database in PostgreSQL, from the last program with a history of versions:
 * it has the schema of a new one, and is migrated to a next version, which exists only in this
 * test. `test/state/upgrades.test.ts` tests the same in files.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { EXIT } from '../../src/errors.ts'
import { postgresql } from '../../src/service/db/engine.ts'
import { creationOf } from '../../src/service/db/indexes.ts'
import {
  ACCOUNT_INDEXES,
  ACCOUNT_MIGRATIONS,
  ACCOUNT_VERSIONS,
  migrate,
} from '../../src/service/db/migrations.ts'
import { earlierState, moveToPostgres } from '../state/earlier-state.ts'
import { type Postgres, startPostgres } from './postgres.ts'

const { newest } = ACCOUNT_VERSIONS

/** Two versions after the current one. `fails` ends the second one. */
const laterWith = (fails: boolean) =>
  [
    ...ACCOUNT_MIGRATIONS,
    {
      version: newest + 1,
      statements: (id: string) => [
        `alter table stamps add column synthetic ${id}`,
        'update stamps set synthetic = id',
      ],
    },
    {
      version: newest + 2,
      statements: () => ['create table made_last (id text)', ...(fails ? ['select 1 / 0'] : [])],
    },
  ] as const

/** The objects of a schema, without the names that PostgreSQL gives to constraints. */
const SCHEMA = [
  `select format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default)
   || coalesce(' ' || collation_name, '') as object, ordinal_position as place
   from information_schema.columns where table_schema = 'public'`,
  `select format('%s: %s', conrelid::regclass, pg_get_constraintdef(oid)) as object, 0 as place
   from pg_constraint where connamespace = 'public'::regnamespace`,
  `select regexp_replace(indexdef, 'INDEX \\w+_(pkey|key)\\d* ', 'INDEX ') as object, 0 as place
   from pg_indexes where schemaname = 'public'`,
]

describe('the account server in PostgreSQL', () => {
  let postgres: Postgres
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres.stop())

  async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(url)
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end()
    }
  }

  async function migrated(url: string, migrations = ACCOUNT_MIGRATIONS): Promise<void> {
    const engine = await postgresql(url)
    try {
      await migrate(engine, undefined, migrations)
    } finally {
      await engine.close()
    }
  }

  async function schemaOf(url: string): Promise<string[]> {
    const all = await Promise.all(SCHEMA.map((text) => query(url, text)))
    return all
      .flat()
      .map(({ object, place }) => `${String(object)} ${String(place)}`)
      .toSorted()
  }

  const versionOf = async (url: string) =>
    (await query(url, 'select max(version) as version from schema_version'))[0]?.['version']

  /** Creates the database of the last program, with the rows of its user. */
  async function earlier(t: Parameters<typeof earlierState>[0]): Promise<string> {
    const url = await postgres.newDatabase()
    await moveToPostgres(earlierState(t, 'last-before-release'), url)
    return url
  }

  it('has the same schema in a new database as in one of the last program', async (t) => {
    const [old, fresh] = [await earlier(t), await postgres.newDatabase()]
    await Promise.all([migrated(old), migrated(fresh)])
    const schema = await schemaOf(fresh)
    // In a database with rows, the server builds these while it runs.
    assert.equal((await schemaOf(old)).length, schema.length - ACCOUNT_INDEXES.length)
    for (const index of ACCOUNT_INDEXES) await query(old, creationOf(index, true))
    assert(schema.length > 400, String(schema.length))
    assert.deepEqual(schema, await schemaOf(old))
  })

  it('is migrated to a next version with its rows, by one of four servers', async (t) => {
    const url = await earlier(t)
    await Promise.all(Array.from({ length: 4 }, () => migrated(url, laterWith(false))))
    const stamps = await query(url, 'select id, synthetic from stamps')
    assert(stamps.length > 0)
    assert(stamps.every(({ id, synthetic }) => id === synthetic))
    const versions = await query(
      url,
      `select version from schema_version where version > ${newest} order by 1`,
    )
    assert.deepEqual(versions, [{ version: newest + 1 }, { version: newest + 2 }])
    await assert.rejects(migrated(url), { exit: EXIT.stateNewer })
  })

  for (const [written, version, exit] of [
    ['before the first release', 7, EXIT.stateOlder],
    ['by a newer program', newest + 1, EXIT.stateNewer],
  ] as const)
    it(`is rejected and stays unchanged if it was written ${written}`, async () => {
      const url = await postgres.newDatabase()
      await query(url, `create table schema_version as select ${version} as version`)
      const schema = await schemaOf(url)
      await assert.rejects(migrated(url), { exit })
      assert.deepEqual(await schemaOf(url), schema)
      assert.deepEqual(await query(url, 'select version from schema_version'), [{ version }])
    })

  it('keeps the last version that was applied completely', async (t) => {
    const url = await earlier(t)
    await assert.rejects(migrated(url, laterWith(true)), /division by zero/)
    assert.equal(await versionOf(url), newest + 1)
    assert.deepEqual(await query(url, `select 1 from pg_tables where tablename = 'made_last'`), [])
    await migrated(url, laterWith(false))
    assert.equal(await versionOf(url), newest + 2)
  })
})
