/** Named statements of PostgreSQL: which texts have names, and poolers that lose statements. */
import assert from 'node:assert/strict'
import { type TestContext, describe, it, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { DATABASE_DEFAULTS, type DatabaseConfig } from '../../../src/config/database.ts'
import { queriesOver } from '../../../src/service/db/database.ts'
import { postgresql } from '../../../src/service/db/engine.ts'
import { newStatementNames } from '../../../src/service/db/named-statements.ts'
import type { Schema } from '../../../src/service/db/schema.ts'
import { withoutPostgres } from '../engines.ts'
import { enrol } from '../person.ts'
import { startPgbouncer, withoutPgbouncer } from './pgbouncer.ts'
import { newDatabase } from '../shared-postgres.ts'
import { openSubject } from '../subject.ts'

describe('names of statements', () => {
  it('a text gets its name at its second use, and keeps it', () => {
    const names = newStatementNames()
    const [first, second, third] = [names.of('a'), names.of('a'), names.of('a')]
    assert.equal(first, undefined)
    assert.match(String(second), /^[\w-]{1,63}$/)
    assert.equal(third, second)
  })

  it('equal texts have equal names in every server, and different texts have different names', () => {
    const [one, other] = [newStatementNames(), newStatementNames()]
    const named = (names: typeof one, text: string) => names.of(text) ?? names.of(text)
    assert.equal(named(one, 'a'), named(other, 'a'))
    assert.notEqual(named(one, 'a'), named(one, 'b'))
  })

  it('there are at most as many names as allowed, however many texts there are', () => {
    const names = newStatementNames(10)
    const named = new Set<string>()
    for (let i = 0; i < 1000; i++)
      for (let use = 0; use < 3; use++) {
        const name = names.of(`select ${i}`)
        if (name !== undefined) named.add(name)
      }
    assert.equal(named.size, 10)
    assert.equal(typeof names.of('select 3'), 'string')
  })

  it('a renamed text has a new name, also if several queries failed by the former one', () => {
    const names = newStatementNames()
    names.of('a')
    const former = names.of('a')!
    for (let i = 0; i < 3; i++) names.rename('a', former)
    const name = names.of('a')!
    assert.notEqual(name, former)
    names.rename('a', name)
    assert.notEqual(names.of('a'), name)
  })
})

describe('named statements in PostgreSQL', { skip: withoutPostgres }, () => {
  async function opened(t: TestContext, prepare: DatabaseConfig['prepare'], url?: string) {
    const engine = await postgresql(url ?? (await newDatabase()), { ...DATABASE_DEFAULTS, prepare })
    t.after(() => engine.close())
    return { engine, db: await queriesOver(engine) }
  }

  const accountsOf = (db: Kysely<Schema>, ids: readonly string[]) =>
    db.selectFrom('accounts').select('id').where('id', 'in', ids).orderBy('id').execute()

  /** Returns the texts of the named statements of the only connection. */
  const namedIn = async (db: Kysely<Schema>) =>
    (
      await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(db)
    ).rows.map(({ statement }) => statement)

  const addAccounts = (db: Kysely<Schema>, ids: readonly string[]) =>
    db
      .insertInto('accounts')
      .values(ids.map((id) => ({ id, kind: 'person' as const, display_name: id })))
      .execute()

  for (const [prepare, count] of [
    ['auto', 1],
    ['on', 1],
    ['off', 0],
  ] as const)
    test(`with "${prepare}", lists of any length are ${count} named statements`, async (t) => {
      const { db } = await opened(t, prepare)
      const ids = ['{a}', 'b,"', `c'\\`, '', 'NULL']
      await addAccounts(db, ids)
      for (let length = 0; length <= ids.length; length++) {
        const wanted = ids.slice(0, length)
        const rows = await accountsOf(db, wanted)
        assert.deepEqual(rows.map(({ id }) => id).toSorted(), wanted.toSorted())
        const others = await db
          .selectFrom('accounts')
          .select('id')
          .$if(length > 0, (query) => query.where('id', 'not in', wanted))
          .execute()
        assert.equal(others.length, ids.length - length)
      }
      const named = (await namedIn(db)).filter((text) => text.includes('= any'))
      assert.equal(named.length, count)
    })

  test('a statement with a list of one value is planned once', async (t) => {
    const { db } = await opened(t, 'auto')
    await addAccounts(
      db,
      Array.from({ length: 2000 }, (_, i) => `${i}`),
    )
    await sql`analyze accounts`.execute(db)
    const read = () =>
      db
        .selectFrom('accounts')
        .innerJoin('sync_marks', 'sync_marks.account_id', 'accounts.id')
        .select('id')
        .where('id', 'in', ['7'])
        .execute()
    for (let i = 0; i < 20; i++) await read()
    const { rows } = await sql<{ custom_plans: number }>`
      select custom_plans from pg_prepared_statements where statement like '%sync_marks%'`.execute(
      db,
    )
    // PostgreSQL plans the first five executions, and then compares the costs.
    assert.deepEqual(rows, [{ custom_plans: 5 }])
  })

  test('a lost statement is executed without a name, and so are all later ones', async (t) => {
    const { db } = await opened(t, 'auto')
    await addAccounts(db, ['a'])
    const read = () => accountsOf(db, ['a'])
    await read()
    await read()
    assert.equal((await namedIn(db)).length, 1)
    await sql`deallocate all`.execute(db)
    for (let i = 0; i < 3; i++) assert.deepEqual(await read(), [{ id: 'a' }])
    assert.deepEqual(await namedIn(db), [])
  })

  test('in a transaction, a lost statement undoes all of it, and the transaction is repeated', async (t) => {
    const { db } = await opened(t, 'auto')
    await accountsOf(db, ['a'])
    await accountsOf(db, ['a'])
    await sql`deallocate all`.execute(db)
    let runs = 0
    const found = await db.transaction().execute(async (trx) => {
      runs += 1
      const insertion = sql`insert into accounts (id, kind, display_name) values ('a', 'person', '')`
      await insertion.execute(trx)
      return accountsOf(trx, ['a'])
    })
    assert.deepEqual(found, [{ id: 'a' }])
    assert.equal(runs, 2)
  })

  test('a migration that changes the columns of a result does not fail the query', async (t) => {
    const { db } = await opened(t, 'auto')
    const read = async () =>
      (await sql<object>`select * from server_secrets where name = ${'x'}`.execute(db)).rows
    await sql`insert into server_secrets values ('x', 'y')`.execute(db)
    await read()
    await read()
    for (const column of ['one', 'two']) {
      await sql`alter table server_secrets add column ${sql.ref(column)} text`.execute(db)
      for (let i = 0; i < 3; i++) assert.ok(column in (await read())[0]!)
    }
    assert.ok((await namedIn(db)).length > 0)
  })

  describe('through PgBouncer in transaction mode', { skip: withoutPgbouncer }, () => {
    test('two servers with "auto" answer every one of their concurrent requests right', async (t) => {
      const url = await startPgbouncer(t, await newDatabase(), 4)
      const servers = await Promise.all([0, 1].map(() => openSubject({ url, file: '/dev/null/x' })))
      t.after(() => Promise.all(servers.map((server) => server.close())))
      const people = await Promise.all(
        Array.from({ length: 8 }, (_, i) => enrol(servers[i % 2]!.server)),
      )
      await Promise.all(
        people.map(async ({ id, account }, who) => {
          const made: string[] = []
          for (let i = 0; i < 15; i++) {
            const name = `Tag ${who} ${i}`
            const tag = await account.tags.create({ body: { name } })
            made.unshift(tag.id)
            assert.equal(tag.name, name)
            const { items } = await account.tags.list({})
            assert.deepEqual(
              items.map((item) => item.id),
              made,
            )
            assert.equal((await account.profiles.read({ id })).id, id)
          }
        }),
      )
    })

    test('the pooler loses statements, which "auto" detects before it names one', async (t) => {
      const direct = await newDatabase()
      const url = await startPgbouncer(t, direct, 1)
      const named = async (prepare: DatabaseConfig['prepare']) => {
        const { db } = await opened(t, prepare, url)
        await accountsOf(db, ['a'])
        await accountsOf(db, ['a'])
        return (await namedIn(db)).length
      }
      assert.deepEqual([await named('auto'), await named('on')], [0, 1])
      // Another connection to the pooler has the only connection to PostgreSQL after it.
      const clients = await Promise.all([0, 1].map(() => connected(t, url)))
      const ask = (client: pg.Client) => client.query({ name: 'n', text: 'select 1' })
      await ask(clients[0]!)
      await assert.rejects(ask(clients[1]!), { code: '42P05' })
    })
  })
})

async function connected(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  // The pooler ends first.
  client.on('error', () => undefined)
  await client.connect()
  t.after(() => client.end())
  return client
}
