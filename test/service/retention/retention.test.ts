/** Retention on both engines; and in PostgreSQL, that indexes find the rows of sweeps. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import pg from 'pg'
import { ACCOUNT_INDEXES } from '../../../src/service/db/migrations.ts'
import type { Schema } from '../../../src/service/db/schema.ts'
import { endingCodes } from '../../../src/service/guests/guest-code-ends.ts'
import { RETENTIONS } from '../../../src/service/retention.ts'
import { onBothEngines, withoutPostgres } from '../engines.ts'
import { newDatabase } from '../shared-postgres.ts'
import { retentionSuite } from './retention.suite.ts'

/** The statements that add rows to each table. Half of them are older than the test's limit. */
const ROWS = [
  `insert into accounts select 'a' || n, 'person', 'A' from generate_series(1, 10) n`,
  `insert into devices (id, account_id, name, platform) values ('d', 'a1', 'D', 'linux')`,
  `insert into sessions select 's', 'a1', 'd', 's', 1, 1, 1`,
  `insert into organisations values ('o', 'O', 1)`,
  `insert into connections values ('c', 1, 1, null)`,
  `insert into verifications select 'a1', ID, '{}' from ROWS`,
  `insert into organisation_activities
    select replace(ID, 'ver', 'act'), 'o', AT, null, 'stamp', null, '{}' from ROWS`,
  `insert into invitations
    select ID, 'c', 'C', 'a1', 'a2', null, STATE, 2, AT, AT, null, null from ROWS`,
  `insert into guest_codes select ID, 'a1', 'G', AT, null, null, AT, null from ROWS`,
  `insert into trust_events select ID, 'a1', 'a2', AT, 'verified', null from ROWS`,
  `insert into access_tokens select ID, 's', AT from ROWS`,
  `insert into sessions select ID, 'a1', 'd', ID, AT, AT, n % 2 from ROWS`,
  `insert into machine_tokens
    select ID, 'a1', ID, 'T', null, 'read', 0, AT, AT, null, null from ROWS`,
].map((text) =>
  text
    .replaceAll('ROWS', 'generate_series(1, 20000) n')
    .replaceAll('STATE', `case n % 2 when 0 then 'approved' else 'declined' end`)
    .replaceAll('ID', `PREFIX || lpad(n::text, 20, '0')`)
    .replaceAll('PREFIX', `case when n < 10000 then 'ver_00' else 'ver_7z' end`)
    .replaceAll('AT', `${Date.UTC(2026)} - 10000000 + n * 1000`),
)

onBothEngines((name, engine) => {
  retentionSuite(name, engine)
})

describe('retention in PostgreSQL', { skip: withoutPostgres }, () => {
  test('each kind of old rows is found by an index, and so are ending guest codes', async () => {
    const seen: { readonly sql: string; readonly parameters: readonly unknown[] }[] = []
    const dialect = {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (of: Kysely<Schema>) => new PostgresIntrospector(of),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    }
    const db = new Kysely<Schema>({ dialect, log: ({ query }) => void seen.push(query) })
    for (const { batch } of RETENTIONS) await batch(db, Date.UTC(2026), 1000)
    const deletions = seen.filter(({ sql }) => sql.startsWith('delete'))
    assert.equal(deletions.length, ACCOUNT_INDEXES.length)
    const ending = endingCodes(db, Date.UTC(2026) + 9_900_000, 1000).compile()
    const client = new pg.Client(await newDatabase())
    await client.connect()
    try {
      for (const text of ROWS) await client.query(text)
      await client.query('analyze')
      const used = []
      for (const { sql, parameters } of [...deletions, ending]) {
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${sql}`, [
          ...parameters,
        ])
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
        const found = ACCOUNT_INDEXES.filter(({ name }) =>
          new RegExp(`Index (Only )?Scan using ${name} on .*\\n +Index Cond`).test(plan),
        )
        assert.equal(found.length, 1, plan)
        used.push(...found)
      }
      assert.deepEqual(new Set(used), new Set(ACCOUNT_INDEXES))
    } finally {
      await client.end()
    }
  })
})
