/**
 * Runs long computations in short slices, so that the program can serve other requests in between.
 */
import { setImmediate } from 'node:timers/promises'

/**
 * The length of a slice, in milliseconds. A slice ends after the first step that exceeds this
 * length.
 */
const SLICE_MS = 5

/**
 * Runs a computation that yields between its steps, for about 5 ms per turn of the event loop.
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

/**
 * Returns a function that yields to the event loop if `ms` milliseconds have passed since it did so
 * the last time. For asynchronous computations that call it between their steps.
 */
export function newSlices(ms: number): () => Promise<void> {
  let began = performance.now()
  return async () => {
    if (performance.now() - began < ms) return
    await setImmediate()
    began = performance.now()
  }
}
