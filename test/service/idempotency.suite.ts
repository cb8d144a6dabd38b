/**
 * Cases that both engines must treat alike: transactions around an answer, operations under a
 * key.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Transaction } from 'kysely'
import { AppError } from '../../src/errors.ts'
import { newBackground } from '../../src/service/db/background.ts'
import { openEngine, queriesOver } from '../../src/service/db/database.ts'
import { onceOver } from '../../src/service/db/idempotency.ts'
import { lazyReceiptKey } from '../../src/service/db/server-secrets.ts'
import type { Schema } from '../../src/service/db/schema.ts'
import type { Keyed } from '../../src/storage/idempotency.ts'
import type { Place } from './subject.ts'
import { rejects } from '../rejects.ts'

const DAY_MS = 24 * 3_600_000
export const KEYED: Keyed = { caller: 'ses_1', key: 'k', fingerprint: 'f' }

/**
 * Opens a server’s database with the functions over it; the rows that tests write are accounts.
 */
export async function openReplica(t: TestContext, place: Place, clock = { ms: 1_000_000 }) {
  const engine = await openEngine(place)
  const db = await queriesOver(engine)
  const background = newBackground(() => undefined)
  t.after(async () => {
    await background.idle()
    await engine.close()
  })
  const receiptKey = lazyReceiptKey(db)
  const write = (id: string, on: typeof db | Transaction<Schema> = db) =>
    on.insertInto('accounts').values({ id, kind: 'person', display_name: '' }).execute()
  return {
    clock,
    engine,
    db,
    background,
    once: onceOver({ engine, db, receiptKey, background, now: () => clock.ms }),
    write,
    act: (id: string) => async () => {
      await write(id)
      return { id }
    },
    written: async () =>
      (await db.selectFrom('accounts').select('id').orderBy('id').execute()).map(({ id }) => id),
    records: async () =>
      (await db.selectFrom('idempotency').select('key').orderBy('key').execute()).map(
        ({ key }) => key,
      ),
  }
}

/** Fails the test: this work must not run. */
export const never = (): Promise<never> => assert.fail('done again')

/**
 * Starts `acting.ts` in a process of its own.
 * @returns `keys`: the lines that it prints; `kill` kills it and waits for its end
 */
export function startActing(place: Place, ...args: string[]) {
  const script = join(import.meta.dirname, 'acting.ts')
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PLACE: JSON.stringify(place) },
  })
  const ended = event(child, 'close')
  const kill = async () => {
    child.kill('SIGKILL')
    assert.equal((await ended)[1], 'SIGKILL')
  }
  return { keys: createInterface({ input: child.stdout }), kill }
}

/** Returns a promise and the function that resolves it. */
export function gate() {
  let open = () => undefined as void
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

export function idempotencySuite(
  name: string,
  newPlace: () => Promise<Place>,
  /** Whether other connections may write while a transaction is open. */
  concurrent: boolean,
): void {
  describe(`transactions: ${name}`, () => {
    const opened = async (t: TestContext) => openReplica(t, await newPlace())

    test('all queries and transactions inside are committed together', async (t) => {
      const { engine, db, write, written } = await opened(t)
      const seen = await engine.atomically(db, async () => {
        await write('a')
        await db.transaction().execute((trx) => write('b', trx))
        return written()
      })
      assert.deepEqual(seen, ['a', 'b'])
      assert.deepEqual(await written(), ['a', 'b'])
    })

    test('… or rolled back together', async (t) => {
      const { engine, db, write, written } = await opened(t)
      const failed = engine.atomically(db, async () => {
        await write('a')
        await db.transaction().execute((trx) => write('b', trx))
        await engine.atomically(db, () => write('c'))
        throw new Error('undo')
      })
      await assert.rejects(failed, /undo/)
      assert.deepEqual(await written(), [])
    })

    test('a failing inner transaction is rolled back alone, and the outer one continues', async (t) => {
      const { engine, db, write, written } = await opened(t)
      await engine.atomically(db, async () => {
        await write('a')
        // Also when the database rejects a statement: PostgreSQL then accepts no further one in
        // that transaction.
        const twice = db.transaction().execute(async (trx) => {
          await write('b', trx)
          await write('a', trx)
        })
        await assert.rejects(twice, /unique/i)
        const inner = engine.atomically(db, async () => {
          await write('c')
          await db.transaction().execute((trx) => write('d', trx))
          throw new Error('undo')
        })
        await assert.rejects(inner, /undo/)
        await write('e')
      })
      assert.deepEqual(await written(), ['a', 'e'])
    })

    test('concurrent inner transactions do not mix', async (t) => {
      const { engine, db, write, written } = await opened(t)
      await engine.atomically(db, async () => {
        const part = (id: string, fails: boolean) =>
          db.transaction().execute(async (trx) => {
            await write(id, trx)
            await trx.selectFrom('accounts').select('id').execute()
            await write(`${id}2`, trx)
            if (fails) throw new Error('undo')
          })
        const all = await Promise.allSettled([
          part('a', false),
          part('b', true),
          write('c'),
          part('d', true),
          part('e', false),
        ])
        assert.deepEqual(
          all.map(({ status }) => status === 'fulfilled'),
          [true, false, true, false, true],
        )
      })
      assert.deepEqual(await written(), ['a', 'a2', 'c', 'e', 'e2'])
    })

    test('queries of other callers meanwhile are outside', async (t) => {
      const { engine, db, write, written } = await opened(t)
      const [begun, go] = [gate(), gate()]
      const undone = engine.atomically(db, async () => {
        await write('inside')
        begun.open()
        await go.opened
        throw new Error('undo')
      })
      await begun.opened
      const outside = [write('outside'), written()] as const
      if (concurrent) assert.deepEqual(await Promise.all(outside).then(written), ['outside'])
      go.open()
      await assert.rejects(undone, /undo/)
      const [, seen] = await Promise.all(outside)
      assert(!seen.includes('inside'))
      assert.deepEqual(await written(), ['outside'])
    })

    test('a query left running is awaited inside an inner transaction, and runs outside afterwards', async (t) => {
      const { engine, db, write, written } = await opened(t)
      const [over, begun] = [gate(), gate()]
      let left: Promise<unknown> = Promise.resolve()
      let later: Promise<unknown> = Promise.resolve()
      const undone = engine.atomically(db, async () => {
        left = db.transaction().execute(async (trx) => {
          begun.open()
          await write('left', trx)
          await write('left2', trx)
        })
        later = over.opened.then(() => write('later'))
        await begun.opened
        throw new Error('undo')
      })
      await assert.rejects(undone, /undo/)
      over.open()
      await Promise.all([left, later])
      assert.deepEqual(await written(), ['later'])
    })

    test('two databases in one process keep their transactions apart', async (t) => {
      const [one, two] = [await opened(t), await opened(t)]
      const undone = one.engine.atomically(one.db, async () => {
        await one.write('one')
        await two.write('two')
        throw new Error('undo')
      })
      await assert.rejects(undone, /undo/)
      assert.deepEqual([await one.written(), await two.written()], [[], ['two']])
    })
  })

  describe(`operations under an idempotency key: ${name}`, () => {
    const opened = async (t: TestContext) => openReplica(t, await newPlace())

    test('run once, and every replica returns the same answer', async (t) => {
      const place = await newPlace()
      const [a, b] = [await openReplica(t, place), await openReplica(t, place)]
      const answer = { status: 201, value: { id: 'x' }, media: false, location: '/x' }
      const work = async () => {
        await a.write('x')
        return answer
      }
      assert.deepEqual(await a.once(KEYED, work), answer)
      assert.deepEqual(await a.once(KEYED, work), answer)
      assert.deepEqual(await b.once(KEYED, work), answer)
      assert.deepEqual(await a.written(), ['x'])
    })

    test('an answer without content is stored, too', async (t) => {
      const { once } = await opened(t)
      const answer = { status: 204, value: undefined, media: false }
      await once(KEYED, async () => answer)
      assert.equal((await once<typeof answer>(KEYED, never)).value, undefined)
    })

    test('keys belong to one caller', async (t) => {
      const { once, act, written } = await opened(t)
      for (const keyed of [KEYED, { ...KEYED, caller: 'ses_2' }, { ...KEYED, key: 'l' }])
        await once(keyed, act(`${keyed.caller} ${keyed.key}`))
      assert.equal((await written()).length, 3)
    })

    test('the same key for another request is rejected', async (t) => {
      const { once } = await opened(t)
      await once(KEYED, async () => ({ n: 1 }))
      const other = once({ ...KEYED, fingerprint: 'g' }, never)
      await rejects('idempotency_mismatch', other)
    })

    test('an answer is stored for a day', async (t) => {
      const { once, clock, records, background } = await opened(t)
      await once(KEYED, async () => ({ n: 1 }))
      clock.ms += DAY_MS - 1
      assert.deepEqual(await once(KEYED, never), { n: 1 })
      clock.ms += 1
      assert.deepEqual(await once({ ...KEYED, fingerprint: 'g' }, async () => ({ n: 2 })), { n: 2 })
      // A record without another retry is deleted by later operations.
      clock.ms += DAY_MS
      await once({ ...KEYED, key: 'other' }, async () => ({ n: 3 }))
      await background.idle()
      assert.deepEqual(await records(), ['other'])
    })

    test('of fifty concurrent calls, on two replicas if possible, one runs', async (t) => {
      const place = await newPlace()
      const replicas = [await openReplica(t, place)]
      if (concurrent) replicas.push(await openReplica(t, place))
      const ran: number[] = []
      const attempt = (i: number) => {
        const { once, db, write } = replicas[i % replicas.length]!
        return once(KEYED, async () => {
          await db.transaction().execute((trx) => write('x', trx))
          return { by: ran[ran.push(i) - 1] }
        })
      }
      const all = await Promise.allSettled(Array.from({ length: 50 }, (_, i) => attempt(i)))
      assert.equal(ran.length, 1)
      for (const one of all)
        if (one.status === 'fulfilled') assert.deepEqual(one.value, { by: ran[0] })
        else assert.equal((one.reason as AppError).code, 'in_progress')
      assert.deepEqual(await attempt(0), { by: ran[0] })
      assert.deepEqual(await replicas[0]!.written(), ['x'])
    })

    test('an error and rolled-back writes are not stored; writes committed before stay', async (t) => {
      const { once, db, act, write, written, records } = await opened(t)
      const refused = once<never>(KEYED, async () => {
        await db.transaction().execute((trx) => write('counted', trx))
        return db.transaction().execute(async (trx) => {
          await write('undone', trx)
          throw new AppError('conflict', 'taken')
        })
      })
      await rejects('conflict', refused)
      assert.deepEqual([await written(), await records()], [['counted'], []])
      // A corrected request under the same key.
      await once({ ...KEYED, fingerprint: 'g' }, act('mended'))
      assert.deepEqual([await written(), await records()], [['counted', 'mended'], ['k']])
    })

    for (const error of [new TypeError('bug'), new AppError('backend_unavailable', 'away')])
      test(`after ${error.message} nothing is stored`, async (t) => {
        const { once, act, write, written, records } = await opened(t)
        const failed = once(KEYED, async () => {
          await write('x')
          throw error
        })
        await assert.rejects(failed, error)
        assert.deepEqual([await written(), await records()], [[], []])
        await once(KEYED, act('x'))
        assert.deepEqual([await written(), await records()], [['x'], ['k']])
      })

    test('while the first call runs, the second gets in_progress', async (t) => {
      const { once } = await opened(t)
      const [begun, go] = [gate(), gate()]
      const first = once(KEYED, async () => {
        begun.open()
        await go.opened
        return { n: 1 }
      })
      await begun.opened
      await rejects('in_progress', once(KEYED, never))
      go.open()
      assert.deepEqual(await first, { n: 1 })
      assert.deepEqual(await once(KEYED, never), { n: 1 })
    })

    test('after kill -9 in the middle, operation and record are both stored, or neither', async (t) => {
      const place = await newPlace()
      for (const [round, count] of [1, 3, 40].entries()) {
        const { keys, kill } = startActing(place, String(round))
        const answered: string[] = []
        let killed: Promise<void> | undefined
        for await (const line of keys) if (answered.push(line) === count) killed = kill()
        await killed
        const { written, records, once } = await openReplica(t, place)
        const [acts, stored] = [await written(), await records()]
        assert.deepEqual(acts, stored)
        assert.deepEqual(
          answered.filter((key) => !acts.includes(key)),
          [],
        )
        for (const key of answered)
          assert.deepEqual(await once({ ...KEYED, key }, never), { id: key })
      }
    })
  })
}
