/**
 * Memory after a burst of requests: when the program collects garbage, and that memory is really
 * freed.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { type Heap, newCollection, ownHeap } from '../../src/cli/memory.ts'

/** Creates a heap that shrinks to `least` when it is collected. */
const heapOf = (least: number) => {
  const heap = { mib: least, share: 0, least, collections: 0 }
  const by: Heap = {
    rss: () => heap.mib * 2 ** 20,
    busy: () => heap.share,
    async collect() {
      heap.collections++
      heap.mib = heap.least
    },
  }
  return { heap, collect: newCollection(by) }
}

test('an idle process collects garbage once after its start, and again when the heap has grown', async () => {
  const { heap, collect } = heapOf(60)
  const steps: [name: string, change: Partial<typeof heap>, collections: number][] = [
    ['it still starts', { mib: 80, share: 0.9 }, 0],
    ['it has started', { share: 0.01 }, 1],
    ['nothing happens', {}, 1],
    ['a little happens', { mib: 65 }, 1],
    ['a burst', { mib: 300, share: 0.8 }, 1],
    ['after the burst', { share: 0.05 }, 2],
    ['nothing happens again', { share: 0 }, 2],
    ['a burst that leaves something to keep', { mib: 300, least: 90 }, 3],
    ['the kept objects are no growth', {}, 3],
    ['the next burst', { mib: 120 }, 4],
  ]
  for (const [name, change, collections] of steps) {
    Object.assign(heap, change)
    await collect()
    assert.equal(heap.collections, collections, name)
  }
})

test('a garbage collection frees unreferenced objects, more than once', async () => {
  const heap = ownHeap()
  for (let time = 0; time < 2; time++) {
    const gone = new WeakRef({ of: 'nobody' })
    // A target of a WeakRef that this turn of the event loop created or read is kept until the
    // turn ends.
    await new Promise((resolve) => setImmediate(resolve))
    await heap.collect()
    assert.equal(gone.deref(), undefined)
  }
  const share = heap.busy()
  assert(share >= 0 && share <= 1)
  assert(heap.rss() > 2 ** 20)
})

/** Creates objects that survive collections, and prints the size of the space for new objects. */
const GROWTH = `
  let kept = []
  for (let n = 0; n < 3e6; n++) {
    kept.push({ n })
    if (kept.length > 2e5) kept = []
  }
  const spaces = process.getBuiltinModule('node:v8').getHeapSpaceStatistics()
  console.log(spaces.find(({ space_name }) => space_name === 'new_space').space_size)
`

test('the space for new objects stays small under load, and grows without the limit', async () => {
  const sizeAfter = async (first: string) => {
    const script = `${first};${GROWTH}`
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script])
    return Number(stdout)
  }
  const path = import.meta.resolve('../../src/runtime/new-space.ts')
  const limited = await sizeAfter(
    `require(${JSON.stringify(new URL(path).pathname)}).limitNewSpace()`,
  )
  assert(limited <= 4 * 2 ** 20, `${limited}`)
  assert((await sizeAfter('')) > 4 * limited)
})
