/** Long work of the processor, in slices between which others are answered. */
import { setImmediate } from 'node:timers/promises'
import { Refusal } from '../crypto/refusal.ts'

/** How long a slice may take, in milliseconds. */
const SLICE_MS = 10

/**
 * Does `work` for each of the items. A Refusal is dropped: these are checks made ahead, which are
 * made again, in order, by the code that decides.
 */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  let began = performance.now()
  for (const item of items) {
    try {
      work(item)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
    if (performance.now() - began < SLICE_MS) continue
    await setImmediate()
    began = performance.now()
  }
}
