/** The limit of writes of an account in a minute, on both engines and across replicas. */
import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { newWriteAllowance } from '../../../src/service/connections/write-allowance.ts'
import { openServiceDatabase } from '../database.ts'
import { onBothEngines } from '../engines.ts'
import { rejects } from '../../rejects.ts'

const MOST = 3000
const START = Date.UTC(2026, 0, 1, 12, 30, 15)

onBothEngines((name, engine) => {
  async function opened(t: TestContext) {
    const place = await engine.newPlace()
    const clock = { ms: START }
    const servers = []
    for (let i = 0; i < 2; i++) {
      const { db, close } = await openServiceDatabase(place)
      t.after(close)
      servers.push({ db, ...newWriteAllowance({ db, now: () => clock.ms }) })
    }
    const [one, two] = servers
    assert(one && two)
    return { clock, one, two }
  }
  async function limited(taken: Promise<void>, seconds: string) {
    const { headers } = await rejects('rate_limited', taken, { says: /3000 a minute/ })
    assert.equal(headers['Retry-After'], seconds)
  }

  describe(`writes of an account: ${name}`, () => {
    test('3,000 a minute over all replicas; other accounts and the next minute are not limited', async (t) => {
      const { clock, one, two } = await opened(t)
      for (let i = 0; i < MOST; i++) await [one, two][i % 2]!.take('acc_ada', MOST)
      await limited(one.take('acc_ada', MOST), '45')
      clock.ms += 44_001
      await limited(two.take('acc_ada', MOST), '1')
      await one.take('acc_bob', MOST)
      clock.ms += 999
      await one.take('acc_ada', MOST)
      await two.take('acc_ada', MOST)
    })

    test('of concurrent writes exactly 3,000 pass, with one query for a hundred', async (t) => {
      const { one } = await opened(t)
      const all = await Promise.allSettled(
        Array.from({ length: MOST + 50 }, () => one.take('acc_ada', MOST)),
      )
      assert.equal(all.filter(({ status }) => status === 'fulfilled').length, MOST)
      const blocks = await one.db.selectFrom('seen_once').select('id').execute()
      assert.equal(blocks.length, MOST / 100)
    })
  })
})
