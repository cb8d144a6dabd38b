/**
 * Indexes that PostgreSQL builds while the server runs: missing and invalid ones are built, by one
 * replica at a time, and requests go on meanwhile.
 */
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import pg from 'pg'
import { newBackground } from '../../../src/service/db/background.ts'
import { queriesOver } from '../../../src/service/db/database.ts'
import { postgresql } from '../../../src/service/db/engine.ts'
import { newIndexBuilds } from '../../../src/service/db/index-builds.ts'
import type { Index } from '../../../src/service/db/indexes.ts'
import { ACCOUNT_INDEXES } from '../../../src/service/db/migrations.ts'
import { until } from '../../until.ts'
import { newPostgresPlace, withoutPostgres } from '../engines.ts'
import { KEEP_ALL, openSubject } from '../subject.ts'
import { newDatabase } from '../shared-postgres.ts'
import { startPgbouncer, withoutPgbouncer } from './pgbouncer.ts'

const BY_TIME: Index = { name: 'feedback_by_time', table: 'feedback', on: '(created_at)' }
const BY_TEXT: Index = {
  name: 'feedback_by_text',
  table: 'feedback',
  on: `(message) where category = 'x'`,
}

async function open(t: TestContext) {
  const url = await newDatabase()
  const clients = [new pg.Client(url), new pg.Client(url)] as const
  for (const client of clients) {
    await client.connect()
    t.after(() => client.end())
  }
  const [client, other] = clients
  const clock = { ms: Date.UTC(2026, 0, 1) }

  const addFeedback = async (n: number) => {
    await client.query(`insert into accounts values ('acc_${n}', 'person', 'Ada')`)
    await client.query(`insert into feedback values ('${n}', 'acc_${n}', 'm', null, 1)`)
  }

  /** Starts a server that builds these indexes. */
  async function server(indexes: readonly Index[], at = url) {
    const engine = await postgresql(at)
    const db = await queriesOver(engine)
    const lines: string[] = []
    const log = (_: string, event: string, fields?: object) =>
      lines.push(`${event} ${JSON.stringify(fields)}`)
    const background = newBackground(log)
    const closing = new AbortController()
    const found = { built: 0 }
    const builds = newIndexBuilds({
      engine,
      db,
      background,
      now: () => clock.ms,
      log,
      signal: closing.signal,
      indexes,
      onBuilt: () => void found.built++,
    })
    const close = async () => {
      if (closing.signal.aborted) return
      closing.abort()
      await background.idle()
      await engine.close()
    }
    t.after(close)
    return { builds, background, lines, found, close }
  }

  const validity = async () => {
    const { rows } = await client.query<{ name: string; valid: boolean; def: string }>(
      `select relname as name, indisvalid as valid, pg_get_indexdef(indexrelid) as def
       from pg_index join pg_class on pg_class.oid = indexrelid
       where indrelid = 'feedback'::regclass and relname like 'feedback_by%' order by 1`,
    )
    return rows
  }
  /** Returns the processes that have been building for this time in milliseconds. */
  const building = async (ms = 0) => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where query like 'create index concurrently%'
       and state = 'active' and datname = current_database()
       and clock_timestamp() - query_start > $1 * interval '1 ms'`,
      [ms],
    )
    return rows.map(({ pid }) => pid)
  }
  return { url, client, other, addFeedback, server, validity, building }
}

const names = (rows: readonly { name: string; valid: boolean }[]) =>
  rows.map(({ name, valid }) => [name, valid])

describe('indexes that are built concurrently', { skip: withoutPostgres }, () => {
  it('missing ones are built once, and are reported', async (t) => {
    const { server, validity } = await open(t)
    const { builds, background, lines, found } = await server([BY_TIME, BY_TEXT])
    builds.wake()
    await background.idle()
    const rows = await validity()
    assert.deepEqual(names(rows), [
      ['feedback_by_text', true],
      ['feedback_by_time', true],
    ])
    assert.match(rows[0]!.def, /\(message\) WHERE \(category = 'x'::text\)$/)
    assert.equal(found.built, 1)
    assert.deepEqual(
      lines.map((line) => line.replace(/\d+/, '0')),
      [
        'index built {"index":"feedback_by_time","ms":0}',
        'index built {"index":"feedback_by_text","ms":0}',
      ],
    )
    const second = await server([BY_TIME, BY_TEXT])
    second.builds.wake()
    await second.background.idle()
    assert.deepEqual([second.found.built, second.lines], [1, []])
  })

  it('an invalid one that an interrupted build left is replaced', async (t) => {
    const { client, addFeedback, server, validity } = await open(t)
    await addFeedback(1)
    await addFeedback(2)
    await assert.rejects(
      client.query(`create unique index concurrently feedback_by_time on feedback (message)`),
      /could not create unique index/,
    )
    assert.deepEqual(names(await validity()), [['feedback_by_time', false]])
    const { builds, background, found } = await server([BY_TIME])
    builds.wake()
    await background.idle()
    const [row] = await validity()
    assert.equal(row?.valid, true)
    assert.match(row.def, /^CREATE INDEX .*\(created_at\)$/)
    assert.equal(found.built, 1)
  })

  it('during a build, others write to the table, and no other replica builds', async (t) => {
    const { client, other, addFeedback, server, validity, building } = await open(t)
    await addFeedback(1)
    // The build waits for this transaction.
    await other.query('begin')
    await other.query('update feedback set message = message')
    const [one, two] = [await server([BY_TIME]), await server([BY_TIME])]
    one.builds.wake()
    await until('the build', async () => (await building()).length === 1)
    two.builds.wake()
    await two.background.idle()
    assert.equal((await building()).length, 1)
    assert.equal(two.found.built, 0)
    await addFeedback(2)
    await client.query("delete from feedback where id = '2'")
    assert.deepEqual([one.found.built, (await building()).length], [0, 1])
    await other.query('commit')
    await one.background.idle()
    assert.equal(one.found.built, 1)
    two.builds.wake()
    await two.background.idle()
    assert.equal(two.found.built, 1)
    assert.deepEqual(names(await validity()), [['feedback_by_time', true]])
  })

  it('a server stops during a build without waiting; PostgreSQL completes the build', async (t) => {
    const { client, other, server, validity, building } = await open(t)
    await other.query('begin')
    await other.query('lock table feedback in row exclusive mode')
    const first = await server([BY_TIME])
    first.builds.wake()
    await until('the build', async () => (await building()).length === 1)
    await first.close()
    // The next server does not disturb the build.
    const second = await server([BY_TIME])
    second.builds.wake()
    await second.background.idle()
    assert.equal(second.found.built, 0)
    assert.equal((await building()).length, 1)
    await other.query('commit')
    await until('the index', async () => (await validity())[0]?.valid === true)
    second.builds.wake()
    await second.background.idle()
    assert.equal(second.found.built, 1)
    assert.deepEqual(first.lines.concat(second.lines), [])
    await client.query('select 1')
  })

  for (const [what, skip, urlOf] of [
    ['directly, although the operator limits waits', false, async (_: unknown, at: string) => at],
    [
      'through a pooler in transaction mode',
      withoutPgbouncer,
      (of: TestContext, at: string) => startPgbouncer(of, at, 3),
    ],
  ] as const)
    it(`builds ${what}`, { skip }, async (t) => {
      const { url, client, other, server, validity, building } = await open(t)
      if (!what.startsWith('through')) {
        const name = new URL(url).pathname.slice(1)
        await client.query(`alter database ${name} set lock_timeout = 20`)
      }
      await other.query('begin')
      await other.query('lock table feedback in row exclusive mode')
      const { builds, background, lines, found } = await server([BY_TIME], await urlOf(t, url))
      builds.wake()
      await until('the build', async () => (await building(100)).length === 1)
      await other.query('commit')
      await background.idle()
      assert.deepEqual([found.built, lines.length], [1, 1])
      assert.deepEqual(names(await validity()), [['feedback_by_time', true]])
    })

  it('a server builds the indexes that its database lacks, while it answers', async (t) => {
    const place = await newPostgresPlace()
    const client = new pg.Client(place.url!)
    await client.connect()
    t.after(() => client.end())
    for (const { name } of ACCOUNT_INDEXES) await client.query(`drop index ${name}`)
    const subject = await openSubject(place, undefined, { retention: KEEP_ALL })
    t.after(() => subject.close())
    await subject.service.nonce()
    await until('the indexes', async () => {
      const { rowCount } = await client.query(
        `select 1 from pg_index join pg_class on pg_class.oid = indexrelid
         where indisvalid and relname = any($1)`,
        [ACCOUNT_INDEXES.map(({ name }) => name)],
      )
      return rowCount === ACCOUNT_INDEXES.length
    })
  })
})
