/** Long computations let other work run, and give the same result as without slices. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inSlices } from '../src/slices.ts'

/** The step at which the test fails: a computation without slices would reach it. */
const MOST_STEPS = 20_000_000

test('other work runs before a long computation ends', async () => {
  let ran = false
  setImmediate(() => (ran = true))
  function* untilOtherWork(): Generator<void, string, void> {
    for (let step = 0; !ran; step++) {
      assert.ok(step < MOST_STEPS, 'no other work ran')
      yield
    }
    return 'result'
  }
  assert.equal(await inSlices(untilOtherWork()), 'result')
})

test('an error of a computation is passed on', async () => {
  // oxlint-disable-next-line require-yield -- it fails at once.
  function* failing(): Generator<void, void, void> {
    throw new Error('broken')
  }
  await assert.rejects(inSlices(failing()), /broken/)
})
