/** The table of words after a crash of PostgreSQL, which empties unlogged tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { until } from '../../until.ts'
import { withoutPostgres } from '../engines.ts'
import { startPostgres } from '../postgres.ts'
import { check, newSpeaker, openReplica, shareCode, SMALL, switchTo } from './speakers.ts'

test('look-ups are right after a crash of PostgreSQL', { skip: withoutPostgres }, async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const place = { url: await postgres.newDatabase(), file: '/dev/null/account.db' }
  const clock = { ms: Date.UTC(2026, 0, 1) }
  const replica = await openReplica(t, place, { clock, sizes: SMALL, all: [] })
  const { db } = replica
  const speakers = []
  for (let i = 0; i < 7; i++) {
    const speaker = await newSpeaker(replica, clock.ms)
    await shareCode(replica, speaker)
    await switchTo(replica, speaker, true)
    speakers.push(speaker)
  }
  await replica.build()
  const stored = async () => (await db.selectFrom('public_words').selectAll().execute()).length
  assert((await stored()) > 0)
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  process.kill(rows[0]!.pid, 'SIGKILL')
  // The other processes of PostgreSQL end, and it recovers.
  const left = await until('PostgreSQL after the crash', async () =>
    stored().then(
      (count) => ({ count }),
      () => null,
    ),
  )
  assert.equal(left.count, 0)
  await check(replica, clock, speakers)
  assert((await stored()) > 0)
})
