/**
 * Operations under a key at the account server, on both engines. Some cases need a database of
 * their own.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once as event } from 'node:events'
import { after, describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { AppError } from '../../src/errors.ts'
import { newReach } from '../../src/service/db/faults.ts'
import { newPostgresPlace, withoutPostgres } from './engines.ts'
import {
  KEYED,
  gate,
  idempotencySuite,
  never,
  openReplica,
  startActing,
} from './idempotency.suite.ts'
import { startPgbouncer, withoutPgbouncer } from './postgresql/pgbouncer.ts'
import { transactionsSuite } from './transactions.suite.ts'
import { rejects } from '../rejects.ts'

const folder = mkdtempSync(join(tmpdir(), 'countersign-sqlite-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0
/** Repeats a call until another one with its key has ended. */
async function persisted<T>(call: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'in_progress')) throw error
      await setImmediate()
    }
}

const newFile = async () => ({ url: null, file: join(folder, `${(files += 1)}.db`) })

idempotencySuite('SQLite', newFile, false)

transactionsSuite('SQLite', newFile)

describe('on PostgreSQL', { skip: withoutPostgres }, () => {
  idempotencySuite('PostgreSQL', newPostgresPlace, true)

  transactionsSuite('PostgreSQL', newPostgresPlace)

  test('while another replica runs the call, the second gets in_progress', async (t) => {
    const place = await newPostgresPlace()
    const [a, b] = [await openReplica(t, place), await openReplica(t, place)]
    const [begun, go] = [gate(), gate()]
    const first = a.once(KEYED, async () => {
      begun.open()
      await go.opened
      return { n: 1 }
    })
    await begun.opened
    await rejects('in_progress', b.once(KEYED, never))
    assert.deepEqual(await b.once({ ...KEYED, key: 'other' }, async () => ({ n: 2 })), { n: 2 })
    go.open()
    assert.deepEqual(await first, { n: 1 })
    assert.deepEqual(await b.once(KEYED, never), { n: 1 })
  })

  test('a stricter default isolation of the database changes nothing', async (t) => {
    const place = await newPostgresPlace()
    const admin = new pg.Client(place.url!)
    await admin.connect()
    const name = new URL(place.url!).pathname.slice(1)
    await admin.query(`alter database ${name} set default_transaction_isolation = 'serializable'`)
    await admin.end()
    const [a, b] = [await openReplica(t, place), await openReplica(t, place)]
    const seen = await a.once(KEYED, async () => {
      await b.write('between')
      return { written: await a.written() }
    })
    assert.deepEqual(seen, { written: ['between'] })
  })

  test('an operation that PostgreSQL undoes is repeated, and its effects happen once', async (t) => {
    const { once, db, background, write, written, records } = await openReplica(
      t,
      await newPostgresPlace(),
    )
    const faults = [
      `do $$ begin raise exception 'undone' using errcode = '40001'; end $$`,
      'select pg_terminate_backend(pg_backend_pid())',
    ]
    let [runs, effects] = [0, 0]
    const work = async () => {
      runs += 1
      await write('x')
      background.run(async () => void (effects += 1))
      const fault = faults[runs - 1]
      if (fault !== undefined) await db.transaction().execute((trx) => sql.raw(fault).execute(trx))
      return { runs }
    }
    assert.deepEqual(await once(KEYED, work), { runs: 3 })
    assert.deepEqual(await once(KEYED, never), { runs: 3 })
    await background.idle()
    assert.deepEqual([await written(), await records(), effects], [['x'], ['k'], 1])
  })

  test('an operation that loses its connection at the commit is an outage, and is not repeated', async (t) => {
    const { engine, once, write, written } = await openReplica(t, await newPostgresPlace())
    const { reaching } = newReach(engine.isAway)
    await once({ ...KEYED, key: 'before' }, async () => ({}))
    type Client = { connection: { stream: { destroy(): void } } }
    const query = Reflect.get(pg.Client.prototype, 'query') as (...given: unknown[]) => unknown
    t.mock.method(pg.Client.prototype, 'query', function (this: Client, ...given: unknown[]) {
      const done = Reflect.apply(query, this, given)
      if (given[0] === 'commit') this.connection.stream.destroy()
      return done
    })
    let runs = 0
    const operation = once(KEYED, async () => {
      runs += 1
      await write('x')
      return {}
    })
    await rejects(
      'backend_unavailable',
      reaching(() => operation),
    )
    t.mock.reset()
    assert.equal(runs, 1)
    // PostgreSQL may or may not have received the commit.
    assert.ok((await written()).length <= 1)
  })

  test('a silent replica does not lock its key forever, and the wait for it is only for the claim', async (t) => {
    const place = await newPostgresPlace()
    const admin = new pg.Client(place.url!)
    await admin.connect()
    const name = new URL(place.url!).pathname.slice(1)
    await admin.query(`alter database ${name} set lock_timeout = '7s'`)
    await admin.end()
    const { once, db } = await openReplica(t, place)
    const timeouts = async () => {
      const { rows } = await sql<{ idle: string; lock: string }>`
        select current_setting('idle_in_transaction_session_timeout') as idle,
          current_setting('lock_timeout') as lock`.execute(db)
      return rows[0]!
    }
    assert.deepEqual(await once(KEYED, timeouts), { idle: '30s', lock: '7s' })
    assert.deepEqual(await timeouts(), { idle: '0', lock: '7s' })
  })

  for (const [way, skip, through] of [
    ['directly', false, async (_: TestContext, url: string) => url],
    [
      'through PgBouncer in transaction mode',
      withoutPgbouncer,
      (t: TestContext, url: string) => startPgbouncer(t, url, 4),
    ],
  ] as const)
    describe(`replicas that reach it ${way}`, { skip }, () => {
      async function places(t: TestContext) {
        const direct = await newPostgresPlace()
        return { direct, place: { ...direct, url: await through(t, direct.url!) } }
      }

      test('of equal calls at three replicas, one runs', async (t) => {
        const { place } = await places(t)
        const replicas = await Promise.all([0, 1, 2].map(() => openReplica(t, place)))
        for (let n = 0; n < 10; n++) {
          const keyed = { ...KEYED, key: `${n}` }
          const answers = await Promise.all(
            replicas.map(({ once, act }) => persisted(() => once(keyed, act(`${n}`)))),
          )
          assert.deepEqual(answers, [{ id: `${n}` }, { id: `${n}` }, { id: `${n}` }])
        }
        assert.equal((await replicas[0]!.written()).length, 10)
      })

      test('if a replica is killed in the middle of a call, one of the others does all of it', async (t) => {
        const { direct, place } = await places(t)
        const replicas = await Promise.all([0, 1].map(() => openReplica(t, place)))
        const { keys, kill } = startActing(place, 'killed', 'hold')
        const [key] = (await event(keys, 'line')) as [string]
        const keyed = { ...KEYED, key }
        for (const { once } of replicas) await rejects('in_progress', once(keyed, never))
        await kill()
        let runs = 0
        const answers = await Promise.all(
          replicas.map(({ once, write }) =>
            persisted(() =>
              once(keyed, async () => {
                runs += 1
                await write(key)
                return { id: key }
              }),
            ),
          ),
        )
        assert.deepEqual([answers, runs], [[{ id: key }, { id: key }], 1])
        const { written, records } = await openReplica(t, direct)
        assert.deepEqual([await written(), await records()], [[key], [key]])
      })
    })

  for (const [when, part] of [
    ['in the operation', false],
    ['in an inner transaction', true],
  ] as const)
    test(`a connection that the database closes ${when} is an outage, nothing is stored, and the next call works`, async (t) => {
      const place = await newPostgresPlace()
      const { engine, db, once, act, write, written, records } = await openReplica(t, place)
      const { reaching } = newReach(engine.isAway)
      const admin = new pg.Client(place.url!)
      await admin.connect()
      const die = `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction'`
      const dying = () =>
        reaching(() =>
          once(KEYED, async () => {
            await write('x')
            if (part)
              await db.transaction().execute(async (trx) => {
                await write('y', trx)
                await admin.query(die)
                await write('z', trx)
              })
            else {
              await admin.query(die)
              await write('z')
            }
            return {}
          }),
        )
      await rejects('backend_unavailable', dying())
      await admin.end()
      assert.deepEqual([await written(), await records()], [[], []])
      await once(KEYED, act('x'))
      assert.deepEqual([await written(), await records()], [['x'], ['k']])
    })

  test('an error after a failed query is returned, though nothing can be stored', async (t) => {
    const { once, write, written } = await openReplica(t, await newPostgresPlace())
    await write('x')
    const refused = once(KEYED, async () => {
      await write('x').catch(() => {
        throw new AppError('conflict', 'taken')
      })
      return {}
    })
    await rejects('conflict', refused)
    assert.deepEqual(await written(), ['x'])
  })
})
