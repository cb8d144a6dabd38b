/** A write that a component starts, with its state for buttons and messages. */
import { useSignal, type ReadonlySignal } from '@preact/signals'
import type { ApiFailure } from './api.ts'
import { failureOf } from './resource.ts'

/** A write with its state. */
export interface Action<A extends readonly unknown[]> {
  readonly isRunning: ReadonlySignal<boolean>
  /** Why the last run failed; null if it succeeded or there was none. */
  readonly failure: ReadonlySignal<ApiFailure | null>
  /** Runs the write, unless it runs already. Returns whether it succeeded. */
  readonly run: (...args: A) => Promise<boolean>
}

/** Returns an action of a component. */
export function useAction<A extends readonly unknown[]>(
  work: (...args: A) => Promise<unknown>,
): Action<A> {
  const isRunning = useSignal(false)
  const failure = useSignal<ApiFailure | null>(null)
  return {
    isRunning,
    failure,
    run: async (...args) => {
      if (isRunning.value) return false
      isRunning.value = true
      failure.value = null
      try {
        await work(...args)
        return true
      } catch (error) {
        failure.value = failureOf(error)
        return false
      } finally {
        isRunning.value = false
      }
    },
  }
}
