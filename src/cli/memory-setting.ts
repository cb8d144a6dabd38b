/**
 * Returns memory to the system after a burst of work.
 * V8 keeps the memory until its next full collection, which an idle process may never reach: on a
 * machine with enough memory 128 MiB for new objects alone. So a server collects when it is idle
 * and its memory has grown.
 */
import type { EventLoopUtilization } from 'node:perf_hooks'

const EVERY_MS = 10_000
/** The largest share of time, from 0 to 1, in which an idle program is busy. */
const AT_REST = 0.1
/**
 * The factor by which memory must exceed that after the last collection. A program that did
 * little stays below it.
 */
const GROWN = 1.1

/** The memory of a process. Tests replace it. */
export interface Heap {
  /** Resident memory, in bytes. */
  rss(): number
  /**
   * The share of time since the previous call, or since the start of the process, in which the
   * event loop was busy; from 0 to 1.
   */
  busy(): number
  collect(): Promise<void>
}

/** Makes V8’s full collection callable. Only the flag `--expose-gc` gives access to it. */
async function loadCollector(): Promise<() => Promise<void>> {
  const { setFlagsFromString } = await import('node:v8')
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  // Only a context created after the flag was set has the function.
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  // `last-resort` also returns the freed pages to the system. Otherwise V8 keeps them for later
  // use.
  return () => gc({ type: 'major', flavor: 'last-resort', execution: 'async' })
}

/** Returns the heap of this process. */
export function ownHeap(): Heap {
  let since: EventLoopUtilization | undefined
  let collector: Promise<() => Promise<void>> | undefined
  return {
    rss: () => process.memoryUsage.rss(),
    busy() {
      const now = performance.eventLoopUtilization()
      // The collector is loaded at its first use, which is after the start.
      const { utilization } =
        since === undefined ? now : performance.eventLoopUtilization(now, since)
      since = now
      return utilization
    },
    collect: async () => (await (collector ??= loadCollector()))(),
  }
}

/**
 * Returns a function that collects if the process is idle and has grown since the last
 * collection.
 * To be called at intervals. Its first call while idle always collects, because of the memory
 * that only the start needed.
 */
export function newLook(heap: Heap): () => Promise<void> {
  let kept = 0
  return async () => {
    if (heap.busy() > AT_REST || heap.rss() <= kept * GROWN) return
    await heap.collect()
    kept = heap.rss()
  }
}

/** Checks the memory at intervals. The timer does not keep the process alive. */
export function giveBackMemory(): void {
  const look = newLook(ownHeap())
  setInterval(() => void look(), EVERY_MS).unref()
}
