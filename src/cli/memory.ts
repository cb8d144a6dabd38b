/**
 * The memory of a server, which returns to the operating system after a burst of work.
 *
 * V8 keeps memory until its next full collection, which an idle process may never reach. Therefore,
 * a server that is idle and has grown runs a full collection.
 */
import { setFlagsFromString } from 'node:v8'
import { limitNewSpace } from '../runtime/new-space.ts'
import type { EventLoopUtilization } from 'node:perf_hooks'

const EVERY_MS = 10_000
/** When the space for new objects is limited, in milliseconds. By then the start is over. */
const LIMITED_MS = 2_000
/** The maximum share of time, from 0 to 1, in which an idle program is busy. */
const AT_REST = 0.1
/**
 * The factor by which memory must have grown since the last collection.
 *
 * A program that did little stays below it.
 */
const GROWN = 1.1

/** The memory of a process. Tests pass a different one. */
export interface Heap {
  /** Returns the resident memory in bytes. */
  rss(): number
  /**
   * Returns the share of time in which the event loop was busy, from 0 to 1.
   *
   * The time begins at the previous call, or at the start of the process.
   */
  busy(): number
  collect(): Promise<void>
}

/** The number of full collections after which V8 discards the code of an unused function. */
const OLD_AGE = { atRest: 1, usual: 6 }

/** Makes V8's full collection callable. This requires the flag `--expose-gc`. */
async function loadCollector(): Promise<() => Promise<void>> {
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  // Only contexts that are created after the flag was set have this function.
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  return async () => {
    // Functions that only the start called are compiled again if they are called again.
    setFlagsFromString(`--bytecode-old-age=${OLD_AGE.atRest}`)
    try {
      // `last-resort` also returns the freed pages to the operating system. Otherwise V8 keeps
      // them.
      await gc({ type: 'major', flavor: 'last-resort', execution: 'async' })
    } finally {
      setFlagsFromString(`--bytecode-old-age=${OLD_AGE.usual}`)
    }
  }
}

/** Returns the memory of this process. */
export function ownHeap(): Heap {
  let since: EventLoopUtilization | undefined
  let collector: Promise<() => Promise<void>> | undefined
  return {
    rss: () => process.memoryUsage.rss(),
    busy() {
      const now = performance.eventLoopUtilization()
      // The first call covers the time since the start of the process.
      const { utilization } =
        since === undefined ? now : performance.eventLoopUtilization(now, since)
      since = now
      return utilization
    },
    collect: async () => (await (collector ??= loadCollector()))(),
  }
}

/**
 * Returns a function that runs a collection if the process is idle and has grown.
 *
 * Call the function at intervals. Its first call while the process is idle always runs a
 * collection, to free the memory that only the start needed.
 */
export function newCollection(heap: Heap): () => Promise<void> {
  let rssAfter = 0
  return async () => {
    if (heap.busy() > AT_REST || heap.rss() <= rssAfter * GROWN) return
    await heap.collect()
    rssAfter = heap.rss()
  }
}

/**
 * Limits the space for new objects, and checks the memory at intervals. Call it when the server
 * listens. The timers do not keep the process alive.
 */
export function giveBackMemory(): void {
  setTimeout(limitNewSpace, LIMITED_MS).unref()
  const collect = newCollection(ownHeap())
  setInterval(() => void collect(), EVERY_MS).unref()
}
