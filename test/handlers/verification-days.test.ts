/**
 * Tests the verification log by days. It has a separate file, since the ids of one process never
 * go back in time.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { every } from '../../src/api/cursor.ts'
import { verificationLog, verify } from '../../src/handlers/verify.ts'
import { newWorld } from '../world/world.ts'
import { at } from '../world/requests.ts'
import { rejects } from '../rejects.ts'

const NOBODYS = 'matador carload recede'

describe('the verification log of several days', () => {
  it('contains pushed and unpushed entries', async (t) => {
    const world = await newWorld(t)
    const ada = await world.person('ada')
    const days: string[] = []
    for (let i = 0; i < 4; i++) {
      await verify.words({ body: { words: NOBODYS } }, at(ada))
      if (i === 1) await ada.sync()
      days.push(new Date(world.clock.ms).toISOString().slice(0, 10))
      world.later(24 * 60)
    }
    const listed = async (query: { from?: string; to?: string }, limit = 50) => {
      const all = await every(({ cursor }) =>
        verificationLog.list(
          cursor === undefined ? { ...query, limit } : { ...query, limit, cursor },
          at(ada),
        ),
      )
      return all.map((entry) => entry.at.slice(0, 10))
    }
    const [first, second, third, fourth] = days as [string, string, string, string]
    for (const limit of [1, 50]) {
      assert.deepEqual(await listed({}, limit), days.toReversed())
      assert.deepEqual(await listed({ from: second, to: third }, limit), [third, second])
      assert.deepEqual(await listed({ from: fourth }, limit), [fourth])
      assert.deepEqual(await listed({ to: first }, limit), [first])
    }
    await rejects('validation_failed', listed({ from: second, to: first }))
  })
})
