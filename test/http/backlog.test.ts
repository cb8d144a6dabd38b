/** Tests work that is spread over turns of the event loop. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newBacklog } from '../../src/http/request-order.ts'

const MOST = 3
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

/** Returns a backlog, and the items that it has handled. */
function recorded() {
  const handled: number[] = []
  return { handled, ...newBacklog<number>(MOST, (item) => handled.push(item)) }
}

describe('a backlog', () => {
  it('handles offered items at once, up to its number for one turn', async () => {
    const { handled, offer } = recorded()
    for (const item of upTo(10)) offer(item)
    assert.deepEqual(handled, upTo(MOST))
    for (const count of [6, 9, 10, 10]) {
      await turn()
      assert.deepEqual(handled, upTo(count))
    }
  })

  it('handles pushed items in later turns', async () => {
    const { handled, push } = recorded()
    for (const item of upTo(4)) push(item)
    assert.deepEqual(handled, [])
    for (const count of [3, 4]) {
      await turn()
      assert.deepEqual(handled, upTo(count))
    }
  })

  it('keeps the order of pushed and offered items', async () => {
    const { handled, push, offer } = recorded()
    push(0)
    offer(1)
    await turn()
    assert.deepEqual(handled, [0, 1])
  })

  it('handles the full number in a turn again after a pause', async () => {
    const { handled, offer } = recorded()
    for (const item of upTo(MOST)) offer(item)
    await turn()
    offer(MOST)
    assert.deepEqual(handled, upTo(MOST + 1))
  })
})
