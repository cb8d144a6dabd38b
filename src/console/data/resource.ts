/** Data that a component shows, read again after each event that may have changed it. */
import { signal, type ReadonlySignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { ApiFailure } from './api.ts'
import { firstStreamOpen, onLiveEvent } from './live.ts'

/** Data with the state of its reading. */
export interface Resource<T> {
  /** The newest data; undefined until it was read once. */
  readonly data: ReadonlySignal<T | undefined>
  /** Why the last reading failed; null if it succeeded. Earlier data stays. */
  readonly failure: ReadonlySignal<ApiFailure | null>
  /** Reads the data again. */
  readonly reload: () => Promise<void>
  /** Changes the data as a write or an event has changed it at the daemon. */
  change(by: (data: T) => T): void
}

/** Converts any error to one that can be shown. */
export const failureOf = (error: unknown): ApiFailure =>
  error instanceof ApiFailure
    ? error
    : new ApiFailure(0, { error: 'unexpected', message: String(error) })

/** Returns data that `read` reads. A reading that was requested during another one follows it. */
export function newResource<T>(read: () => Promise<T>): Resource<T> {
  const data = signal<T | undefined>(undefined)
  const failure = signal<ApiFailure | null>(null)
  let running: Promise<void> | null = null
  let isStale = false
  async function run(): Promise<void> {
    await firstStreamOpen
    do {
      isStale = false
      try {
        data.value = await read()
        failure.value = null
      } catch (error) {
        failure.value = failureOf(error)
      }
    } while (isStale)
    running = null
  }
  return {
    data,
    failure,
    reload: () => {
      isStale = true
      return (running ??= run())
    },
    change: (by) => {
      if (data.value !== undefined) data.value = by(data.value)
      // A reading that has begun may return the state before the change.
      isStale = true
    },
  }
}

/** Reads data while a component is shown, and again after events of these types. */
export function useShared<T>(resource: Resource<T>, types: readonly string[]): Resource<T> {
  useEffect(() => {
    void resource.reload()
    return onLiveEvent(types, () => void resource.reload())
  }, [resource])
  return resource
}

/**
 * Reads data for a component, and again after events of these types.
 * @param read must not change while `key` is the same
 * @param types such as `connection.*`
 */
export function useResource<T>(
  key: string,
  read: () => Promise<T>,
  types: readonly string[],
): Resource<T> {
  return useShared(
    useMemo(() => newResource(read), [key]),
    types,
  )
}
