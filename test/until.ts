/** Waits in tests for what happens in the background and has no event. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { WAIT_LIMIT_MS } from './limit.ts'

/** After so many looks without a pause, the processor is left to what the test waits for. */
const EAGER_LOOKS = 100
const PAUSE_MS = 5
/** The real timer, also while a test stops its clock. */
const { setTimeout } = globalThis

/**
 * Looks until something is there, and returns it.
 * @param what names it, for the error
 * @param read returns it; a falsy value if it is not there yet
 */
export async function until<T>(what: string, read: () => T | Promise<T>): Promise<NonNullable<T>> {
  const end = performance.now() + WAIT_LIMIT_MS
  for (let looks = 1; ; looks++) {
    const found = await read()
    if (found) return found
    assert(performance.now() < end, `${what}: not there after ${WAIT_LIMIT_MS / 1000} s`)
    if (looks < EAGER_LOOKS) await setImmediate()
    else await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}
