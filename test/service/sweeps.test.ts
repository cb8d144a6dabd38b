/** Sweeps of expired rows: in batches, and by one replica in each period; on both engines. */
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { newBackground } from '../../src/service/db/background.ts'
import { endLease, takeLease } from '../../src/service/db/leases.ts'
import { newSeenOnce } from '../../src/service/db/seen-once.ts'
import { newSweep, startSweep } from '../../src/service/db/sweeps.ts'
import { openServiceDatabase } from './database.ts'
import { onBothEngines } from './engines.ts'

const MINUTE = 60_000

onBothEngines((name, engine) => {
  describe(`sweeps: ${name}`, () => {
    async function open(t: TestContext) {
      const { db, close } = await openServiceDatabase(await engine.newPlace())
      t.after(close)
      const clock = { ms: Date.UTC(2026, 0, 1) }
      const failures: unknown[] = []
      const background = newBackground((_, __, fields) => failures.push(fields))
      t.after(() => assert.deepEqual(failures, []))
      return { db, clock, background, now: () => clock.ms }
    }

    it('delete all expired rows in batches, and no others', async (t) => {
      const of = await open(t)
      const { db, clock, background } = of
      const rows = Array.from({ length: 2500 }, (_, i) => ({ id: `${i}`, expires_at: clock.ms }))
      for (let at = 0; at < rows.length; at += 500)
        await db
          .insertInto('seen_once')
          .values(rows.slice(at, at + 500))
          .execute()
      const seenOnce = newSeenOnce(of)
      assert.equal(await seenOnce.first('new', clock.ms + 1), true)
      await background.idle()
      const left = await db.selectFrom('seen_once').select('id').execute()
      assert.deepEqual(
        left.map(({ id }) => id),
        ['new'],
      )
    })

    it('run once in a period at all replicas, until a batch is not full', async (t) => {
      const of = await open(t)
      const { clock, background } = of
      const sizes: number[] = []
      const counts = [1000n, 1000n, 999n]
      const sweep = () =>
        newSweep(of, {
          name: 'sweep of used proofs',
          everyMs: MINUTE,
          batch: async (_, most) => {
            sizes.push(most)
            return { numDeletedRows: counts.shift() ?? 0n }
          },
        })
      const [one, other] = [sweep(), sweep()]
      one()
      await background.idle()
      other()
      one()
      await background.idle()
      assert.deepEqual(sizes, [1000, 1000, 1000])
      for (const ms of [MINUTE - 1, 1, -5 * MINUTE]) {
        clock.ms += ms
        other()
        one()
        await background.idle()
      }
      // Once after the period, and once after the clock was set back.
      assert.equal(sizes.length, 5)
    })

    it('start in each period, also if the clock shows that a timer fired early', async (t) => {
      const of = await open(t)
      const closing = new AbortController()
      const everyMs = 5
      const third = Promise.withResolvers<void>()
      let sweeps = 0
      const batch = async () => {
        sweeps += 1
        of.clock.ms += everyMs - 1
        if (sweeps === 3) third.resolve()
        return 0
      }
      const { signal } = closing
      startSweep({ ...of, signal }, { name: 'retention', everyMs, batch }, 0)
      await third.promise
      closing.abort()
      await of.background.idle()
    })

    it('of several tables: a failure does not prevent the next deletions, and is reported', async (t) => {
      const { db, now } = await open(t)
      const failures: unknown[] = []
      const background = newBackground((_, __, fields) => failures.push(fields))
      const seen: string[] = []
      const cause = new Error('of the test')
      const batch = (table: string, counts: (bigint | Error)[]) => async () => {
        seen.push(table)
        const count = counts.shift() ?? 0n
        if (count instanceof Error) throw count
        return { numDeletedRows: count }
      }
      const all = [batch('a', [1000n]), batch('b', [1000n, cause]), batch('c', [1000n])]
      newSweep({ db, now, background }, { name: 'retention', everyMs: MINUTE, batch: all })()
      await background.idle()
      assert.deepEqual(seen, ['a', 'a', 'b', 'b', 'c', 'c'])
      assert.deepEqual(failures, [{ cause }])
    })

    it('ends after a batch when the server shuts down', async (t) => {
      const { db, now, background } = await open(t)
      const closing = new AbortController()
      let batches = 0
      const batch = async () => {
        batches += 1
        if (batches === 2) closing.abort()
        return { numDeletedRows: 1000n }
      }
      const { signal } = closing
      const sweep = { name: 'retention', everyMs: MINUTE, batch: [batch, batch] } as const
      newSweep({ db, now, background, signal }, sweep)()
      await background.idle()
      assert.equal(batches, 2)
    })

    it('a lease has one owner until it expires or ends', async (t) => {
      const { db, clock } = await open(t)
      const [one, other] = ['a', 'b'].map(
        (owner) => ({ name: 'public words', owner, ms: MINUTE }) as const,
      )
      assert.equal(await takeLease(db, one!, clock.ms), true)
      assert.equal(await takeLease(db, other!, clock.ms), false)
      assert.equal(await takeLease(db, one!, clock.ms + 1000), true)
      assert.equal(await takeLease(db, other!, clock.ms + MINUTE), false)
      assert.equal(await takeLease(db, other!, clock.ms + MINUTE + 1000), true)
      // Only the owner ends it.
      await endLease(db, one!)
      assert.equal(await takeLease(db, one!, clock.ms + MINUTE + 1000), false)
      await endLease(db, other!)
      assert.equal(await takeLease(db, one!, clock.ms + MINUTE + 1000), true)
      // The clock was wrong when it was taken.
      assert.equal(await takeLease(db, other!, clock.ms - 5 * MINUTE), true)
    })
  })
})
