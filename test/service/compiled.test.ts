/** Tests queries that are compiled once, on both engines. */
import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { sql } from 'kysely'
import { compiledOnce } from '../../src/service/db/compiled.ts'
import { openServiceDatabase } from './database.ts'
import { type Engine, onBothEngines } from './engines.ts'

const insert = compiledOnce((db, row: { id: string; display_name: string }) =>
  db.insertInto('accounts').values({ ...row, kind: 'person' }),
)

/** Opens a database with the accounts `acc_00` to `acc_19`. */
async function opened(t: TestContext, { newPlace }: Engine) {
  const { db, close } = await openServiceDatabase(await newPlace())
  t.after(close)
  for (let n = 0; n < 20; n++) await insert(db, { id: idOf(n), display_name: `Person ${n}` })
  return db
}

const idOf = (n: number) => `acc_${String(n).padStart(2, '0')}`

onBothEngines((name, engine) => {
  describe(`queries that are compiled once: ${name}`, () => {
    test('run with the values of each call', async (t) => {
      const db = await opened(t, engine)
      let builds = 0
      const nameOf = compiledOnce((of, { id }: { id: string }) => {
        builds++
        return of.selectFrom('accounts').select('display_name').where('id', '=', id)
      })
      for (const n of [3, 7, 7])
        assert.equal((await nameOf(db, { id: idOf(n) }))[0]?.display_name, `Person ${n}`)
      assert.deepEqual(await nameOf(db, { id: 'acc_none' }), [])
      assert.equal(builds, 1)
    })

    test('are built again if another value is undefined', async (t) => {
      const db = await opened(t, engine)
      const find = compiledOnce(
        (of, values: { after: string | undefined; before: string | undefined }) =>
          of
            .selectFrom('accounts')
            .select('id')
            .$if(values.after !== undefined, (those) => those.where('id', '>', values.after!))
            .$if(values.before !== undefined, (those) => those.where('id', '<', values.before!)),
      )
      const count = async (after?: number, before?: number) => {
        const bounds = [after, before].map((n) => (n === undefined ? undefined : idOf(n)))
        return (await find(db, { after: bounds[0], before: bounds[1] })).length
      }
      for (let round = 0; round < 2; round++) {
        assert.equal(await count(), 20)
        assert.equal(await count(4), 15)
        assert.equal(await count(undefined, 4), 4)
        assert.equal(await count(4, 8), 3)
      }
    })

    test('find each item of a list, and have few lengths', async (t) => {
      const db = await opened(t, engine)
      let builds = 0
      const find = compiledOnce((of, { ids }: { ids: readonly string[] }) => {
        builds++
        return of.selectFrom('accounts').select('id').where('id', 'in', ids).orderBy('id')
      })
      const ids = Array.from({ length: 20 }, (_, n) => idOf(n))
      for (let length = 1; length <= 20; length++) {
        const rows = await find(db, { ids: ids.slice(-length) })
        assert.deepEqual(
          rows.map(({ id }) => id),
          ids.slice(-length),
        )
      }
      assert.equal(builds, 6)
    })

    test('belong to the transaction that they get', async (t) => {
      const db = await opened(t, engine)
      const failing = db.transaction().execute(async (trx) => {
        await insert(trx, { id: 'acc_new', display_name: 'New' })
        throw new Error('undo')
      })
      await assert.rejects(failing, /undo/)
      const { count } = await db
        .selectFrom('accounts')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      assert.equal(Number(count), 20)
    })

    test('may not compute with a value while they are built', async (t) => {
      const db = await opened(t, engine)
      const later = compiledOnce((of, { at }: { at: number }) =>
        of
          .selectFrom('accounts')
          .select('id')
          .where(sql<boolean>`${at + 1} > 0`),
      )
      await assert.rejects(later(db, { at: 5 }), /must not depend on the value of "at"/)
    })
  })
})
