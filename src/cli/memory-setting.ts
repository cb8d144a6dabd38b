/**
 * Memory after a burst. V8 keeps what it took until its next full collection, and a process that has little to do may never come to
 * one: 128 MiB for new objects alone, on a machine with room. So a program that serves collects when it is at rest and has grown.
 */
import type { EventLoopUtilization } from 'node:perf_hooks'

const EVERY_MS = 10_000
/** The share of its time, from 0 to 1, in which a program at rest does something. */
const AT_REST = 0.1
/** A program that did little is by this much larger at most than after the last collection. */
const GROWN = 1.1

/** What is looked at and done: in tests, by hand. */
export interface Heap {
  /** Resident memory, in bytes. */
  rss(): number
  /** The share of the time since it was asked last, or the process began, in which the event loop was busy, from 0 to 1. */
  busy(): number
  collect(): Promise<void>
}

/** Makes V8's full collection callable: there is no other way to it than its flag. */
async function loadCollector(): Promise<() => Promise<void>> {
  const { setFlagsFromString } = await import('node:v8')
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  // Only a context that is made after the flag has it.
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  // The last resort also gives back the pages that it emptied, which V8 else keeps for what comes next.
  return () => gc({ type: 'major', flavor: 'last-resort', execution: 'async' })
}

/** The heap of this process. */
export function ownHeap(): Heap {
  let since: EventLoopUtilization | undefined
  let collector: Promise<() => Promise<void>> | undefined
  return {
    rss: () => process.memoryUsage.rss(),
    busy() {
      const now = performance.eventLoopUtilization()
      // What measures is loaded by its first use, which is after the start.
      const { utilization } =
        since === undefined ? now : performance.eventLoopUtilization(now, since)
      since = now
      return utilization
    },
    collect: async () => (await (collector ??= loadCollector()))(),
  }
}

/**
 * What looks at the memory of a program that serves, to be called again and again: collects when it is at rest and has grown since the
 * last collection. The first time at rest is always one, after what only the start needed.
 */
export function newLook(heap: Heap): () => Promise<void> {
  let kept = 0
  return async () => {
    if (heap.busy() > AT_REST || heap.rss() <= kept * GROWN) return
    await heap.collect()
    kept = heap.rss()
  }
}

/** Look again and again, for as long as the process does something else. */
export function giveBackMemory(): void {
  const look = newLook(ownHeap())
  setInterval(() => void look(), EVERY_MS).unref()
}
