/** Waits in tests for what happens in the background and has no event. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { TEST_LIMIT_MS } from './limit.ts'

/** A wait ends before its test does, so that the report has its reason. */
const LONGEST_MS = TEST_LIMIT_MS * 0.75

/**
 * Looks until something is there, and returns it.
 * @param what names it, for the error
 * @param read returns it; a falsy value if it is not there yet
 */
export async function until<T>(what: string, read: () => T | Promise<T>): Promise<NonNullable<T>> {
  const end = performance.now() + LONGEST_MS
  for (;;) {
    const found = await read()
    if (found) return found
    assert(performance.now() < end, `${what}: not there after ${LONGEST_MS / 1000} s`)
    await setImmediate()
  }
}
