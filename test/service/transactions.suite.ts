/**
 * Work that must not join an operation, on both engines. This is background work, and queries
 * that would wait for themselves.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { AppError } from '../../src/errors.ts'
import { KEYED, gate, openReplica } from './idempotency.suite.ts'
import type { Place } from './subject.ts'
import { rejects } from '../rejects.ts'

export function transactionsSuite(name: string, newPlace: () => Promise<Place>): void {
  const opened = async (t: TestContext) => openReplica(t, await newPlace())

  describe(`background work of an operation: ${name}`, () => {
    test('starts after the operation is committed, outside of it', async (t) => {
      const { engine, db, background, write, written } = await opened(t)
      let seen: readonly string[] = []
      await engine.atomically(db, async () => {
        await write('a')
        background.run(async () => {
          seen = await written()
          await write('b')
          throw new Error('of its own')
        })
        await background.idle()
        assert.deepEqual(seen, [])
        await write('c')
      })
      await background.idle()
      assert.deepEqual(seen, ['a', 'c'])
      assert.deepEqual(await written(), ['a', 'b', 'c'])
    })

    test('never starts if the operation is rolled back', async (t) => {
      const { engine, db, background } = await opened(t)
      const work = () => assert.fail('begun')
      const left = gate()
      let later: Promise<void> = Promise.resolve()
      const undone = engine.atomically(db, async () => {
        background.run(work)
        await engine.atomically(db, async () => background.run(work))
        later = left.opened.then(() => background.run(work))
        throw new Error('undo')
      })
      await assert.rejects(undone, /undo/)
      left.open()
      await later
      await background.idle()
    })

    test('of a transaction without an operation: starts once, after the commit', async (t) => {
      const { engine, db, background, write, written } = await opened(t)
      const seen: (readonly string[])[] = []
      const work = async () => void seen.push(await written())
      const undone = db.transaction().execute(async () => {
        background.run(work)
        throw new Error('undo')
      })
      await assert.rejects(undone, /undo/)
      const conflict = Object.assign(new Error('undone'), { code: '40001' })
      // SQLite undoes no transaction because of another one.
      let fails = engine.isAway(conflict)
      await db.transaction().execute(async (trx) => {
        background.run(work)
        await write('a', trx)
        if (!fails) return
        fails = false
        throw conflict
      })
      await background.idle()
      assert.deepEqual(seen, [['a']])
    })

    test('waits for the outermost operation, and excludes rolled-back parts', async (t) => {
      const { engine, db, background, write, written } = await opened(t)
      const begun: string[] = []
      const work = (id: string) => () => background.run(async () => void begun.push(id))
      await engine.atomically(db, async () => {
        await engine.atomically(db, async () => work('kept')())
        const inner = engine.atomically(db, async () => {
          work('undone')()
          throw new Error('undo')
        })
        await assert.rejects(inner, /undo/)
        await background.idle()
        assert.deepEqual(begun, [])
        await write('a')
      })
      await background.idle()
      assert.deepEqual([begun, await written()], [['kept'], ['a']])
    })

    test('a promise left running can start work after the operation ended', async (t) => {
      const { engine, db, background, write, written } = await opened(t)
      const left = gate()
      let later: Promise<void> = Promise.resolve()
      await engine.atomically(db, async () => {
        later = left.opened.then(() => background.run(() => write('later')))
      })
      left.open()
      await later
      await background.idle()
      assert.deepEqual(await written(), ['later'])
    })

    test('a repeated call does not start it again; an error with committed writes does start it', async (t) => {
      const { once, background, write } = await opened(t)
      let begun = 0
      const work = async () => {
        background.run(async () => void begun++)
        return { id: 'x' }
      }
      for (let i = 0; i < 2; i++) await once(KEYED, work)
      const refused = once<never>({ ...KEYED, key: 'l' }, async () => {
        await write('counted')
        await work()
        throw new AppError('conflict', 'taken')
      })
      await rejects('conflict', refused)
      await background.idle()
      assert.equal(begun, 2)
    })
  })

  describe(`db inside db.transaction() of an operation: ${name}`, () => {
    test('fails at once, and the operation continues', async (t) => {
      // A deadlock keeps no process alive: without this timer the process would end as if the
      // test had passed.
      const awake = setInterval(() => undefined, 1000)
      t.after(() => clearInterval(awake))
      const { engine, db, write, written } = await opened(t)
      const wrong: [string, () => Promise<unknown>][] = [
        ['a query', () => write('wrong')],
        ['a transaction', () => db.transaction().execute(() => write('wrong'))],
        ['an operation', () => engine.atomically(db, () => write('wrong'))],
        ['several', () => Promise.all([write('wrong'), write('wrong too')])],
      ]
      await engine.atomically(db, async () => {
        for (const [what, ask] of wrong) {
          const waiting = db.transaction().execute(async (trx) => {
            await write('undone', trx)
            await ask()
          })
          await assert.rejects(waiting, /Inside db\.transaction\(\), ask the transaction/, what)
        }
        await write('a')
      })
      assert.deepEqual(await written(), ['a'])
    })

    test('db can be used beside and after an inner transaction', async (t) => {
      const { engine, db, write, written } = await opened(t)
      const over = gate()
      let left: Promise<unknown> = Promise.resolve()
      await engine.atomically(db, async () => {
        const part = db.transaction().execute(async (trx) => {
          left = over.opened.then(() => write('left'))
          await write('part', trx)
        })
        await Promise.all([part, write('beside')])
        over.open()
        await left
        await engine.atomically(db, () => db.transaction().execute((trx) => write('deep', trx)))
        await write('after')
      })
      assert.deepEqual(await written(), ['after', 'beside', 'deep', 'left', 'part'])
    })
  })
}
