/**
 * Compares two implementations by their verdicts.
 * Both name the broken rule in `reason` of the errors that they throw. `verdictOf` makes a
 * verdict of that for either of them.
 */
import assert from 'node:assert/strict'
import { again } from './random.ts'

export type Verdict<T> = { readonly accept: true; readonly value: T } | Refusal
interface Refusal {
  readonly accept: false
  readonly reason: string
}

/** Returns the result of `act`, or the reason that it throws. Other errors are passed on. */
export async function verdictOf<T>(act: () => T | Promise<T>): Promise<Verdict<T>> {
  try {
    return { accept: true, value: await act() }
  } catch (error) {
    const reason = error instanceof Error && 'reason' in error ? error.reason : undefined
    if (typeof reason !== 'string') throw error
    return { accept: false, reason }
  }
}

/**
 * Checks that both give the same answer: equal values if they accept, equal reasons if they
 * refuse.
 */
export async function agree<T>(
  first: () => T | Promise<T>,
  second: () => T | Promise<T>,
  input: unknown,
): Promise<Verdict<T>> {
  const [a, b] = [await verdictOf(first), await verdictOf(second)]
  assert.deepEqual(a, b, `${again}, input ${JSON.stringify(input)}`)
  return b
}
