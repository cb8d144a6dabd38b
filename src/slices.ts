/** Runs long computations in slices, so that the program can serve other requests in between. */
import { setImmediate } from 'node:timers/promises'

/** The longest slice, in milliseconds, unless a single step takes longer. */
const SLICE_MS = 10

/**
 * Runs a computation that yields between its steps, for at most 10 ms per turn of the event loop.
 * @returns the result of the computation
 * @throws the errors of the computation
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
