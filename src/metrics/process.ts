/**
 * Measures the process and the event loop, under the names that other programs on Node use too.
 *
 * The event loop is measured from the first reading on, because that wakes an idle process. The
 * runs of the garbage collector are not observed, because an observer is called after each of them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { METRICS } from './catalogue.ts'

const PRECISION_MS = 20
const NS_PER_SECOND = 1e9
const US_PER_SECOND = 1e6

const delays = monitorEventLoopDelay({ resolution: PRECISION_MS })
delays.enable()

/** The delays between two readings, in seconds; null before the first delay. */
let latest: { readonly p50: number; readonly p99: number; readonly max: number } | null = null

/** Takes the delays of the event loop since the previous call. Call it before each reading. */
export function takeDelays(): void {
  const seconds = (percent: number) => delays.percentile(percent) / NS_PER_SECOND
  latest = delays.count === 0 ? null : { p50: seconds(50), p99: seconds(99), max: seconds(100) }
  delays.reset()
}

/** Returns how many files a process may open; null where the system does not report it. */
function mostFiles(): number | null {
  const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
  return found === null ? null : Number(found[1])
}

/** When the process started, Unix time in seconds. */
const startedAt = Date.now() / 1000 - process.uptime()

const one = (value: number | null | undefined) => (value == null ? [] : ([[{}, value]] as const))

METRICS.cpu.from(() => {
  const { user, system } = process.cpuUsage()
  return one((user + system) / US_PER_SECOND)
})
METRICS.startTime.from(() => one(startedAt))
METRICS.residentMemory.from(() => one(process.memoryUsage.rss()))
METRICS.heapUsed.from(() => one(process.memoryUsage().heapUsed))
if (process.platform === 'linux') {
  // The list has the descriptor with which it is read.
  METRICS.openFiles.from(() => one(readdirSync('/proc/self/fd').length - 1))
  METRICS.mostFiles.from(() => one(mostFiles()))
}
METRICS.delayMedian.from(() => one(latest?.p50))
METRICS.delayHigh.from(() => one(latest?.p99))
METRICS.delayMost.from(() => one(latest?.max))
