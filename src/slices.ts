/** Long computations in slices, so that the program answers others meanwhile. */
import { setImmediate } from 'node:timers/promises'

/** The longest slice, in milliseconds, but for a single step that takes longer. */
const SLICE_MS = 10

/**
 * Runs a computation that yields between its steps, at most 10 ms in one turn of the event loop.
 * Out: its result.
 * @throws what the computation throws
 */
export async function inSlices<T>(steps: Generator<void, T, void>): Promise<T> {
  let began = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (performance.now() - began < SLICE_MS) continue
    await setImmediate()
    began = performance.now()
  }
}
