/** Ends a server on request, in an orderly way and within a time limit. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { constants } from 'node:os'
import type { Log } from '../log.ts'

/** When the watchdog thread starts, and when it considers the event loop blocked. */
interface WatchdogTimes {
  /**
   * How long the start of the thread is delayed, in milliseconds.
   *
   * By then the program has started, so the thread does not slow the start.
   */
  readonly settledMs: number
  /**
   * How long the event loop may not report, in milliseconds. It reports twice in this time.
   *
   * After that, the event loop is blocked, and a signal may be waiting in a pipe.
   */
  readonly patienceMs: number
}
const TIMES: WatchdogTimes = { settledMs: 2_000, patienceMs: 2_000 }

/** Indices of the numbers that both threads share. */
const TURNS = 0
const IS_ASKED = 1

interface Watched {
  readonly cells: SharedArrayBuffer
  /**
   * The descriptors of the pipes that may contain a signal: the reading end and the writing end.
   */
  readonly pipes: readonly (readonly [reading: string, writing: string])[]
  readonly signals: readonly number[]
  readonly patienceMs: number
  readonly longestMs: number
}

/**
 * The code of the watchdog thread. It is passed as text, so it can refer only to `workerData`.
 *
 * libuv's signal handler runs even while the event loop is blocked. It writes 16 bytes to a pipe: a
 * pointer and the number of the signal. The event loop reads them, so they stay in the pipe while
 * the loop is blocked. The thread reads them there and writes them back for the loop.
 */
function watch(): void {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')
  const {
    closeSync,
    constants: flags,
    openSync,
    readSync,
    writeSync,
  } = process.getBuiltinModule('node:fs')
  const { cells, pipes, signals, patienceMs, longestMs } = workerData as Watched
  const [turnsAt, isAskedAt, messageBytes, numberAt] = [0, 1, 16, 8]
  const shared = new Int32Array(cells)
  const bytes = Buffer.alloc(4096)

  /** Whether one of the signals is waiting in a pipe. */
  function isIn([reading, writing]: readonly [string, string]): boolean {
    const from = openSync(`/proc/self/fd/${reading}`, flags.O_RDONLY | flags.O_NONBLOCK)
    try {
      const length = readSync(from, bytes)
      writeSync(Number(writing), bytes, 0, length)
      for (let at = 0; at + messageBytes <= length; at += messageBytes)
        if (signals.includes(bytes.readInt32LE(at + numberAt))) return true
      return false
    } catch {
      // The pipe is empty.
      return false
    } finally {
      closeSync(from)
    }
  }

  parentPort?.postMessage(null)
  let turns = Atomics.load(shared, turnsAt)
  let askedAt: number | null = null
  for (;;) {
    const isHeldUp = Atomics.wait(shared, turnsAt, turns, patienceMs) === 'timed-out'
    turns = Atomics.load(shared, turnsAt)
    const isAsked = Atomics.load(shared, isAskedAt) === 1 || (isHeldUp && pipes.some(isIn))
    if (isAsked) askedAt ??= performance.now()
    if (askedAt !== null && performance.now() - askedAt >= longestMs) {
      writeSync(2, '{"level":"warn","event":"stopped while the event loop was held up"}\n')
      process.kill(process.pid, 'SIGKILL')
    }
  }
}

/**
 * Returns the pipes with which libuv forwards signals to event loops.
 *
 * Both ends of such a pipe are in this process and non-blocking. The blocking pipe is libuv's lock
 * and must not be touched. Without `/proc`, the list is empty.
 */
function signalPipes(): (readonly [reading: string, writing: string])[] {
  const ends = new Map<string, { reading?: string; writing?: string }>()
  let fds: string[]
  try {
    fds = readdirSync('/proc/self/fd')
  } catch {
    return []
  }
  for (const fd of fds)
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`)
      const [, octal = ''] =
        /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? []
      const flags = parseInt(octal, 8)
      if (!target.startsWith('pipe:') || (flags & 0o4000) === 0) continue
      const known = ends.get(target) ?? {}
      ends.set(target, { ...known, [(flags & 1) === 0 ? 'reading' : 'writing']: fd })
    } catch {
      // This is the descriptor of the folder itself, which has already been closed.
    }
  return [...ends.values()].flatMap(({ reading, writing }) =>
    reading === undefined || writing === undefined ? [] : [[reading, writing] as const],
  )
}

/**
 * Ends this process if it was asked to stop while its event loop is blocked.
 *
 * JavaScript receives signals and timers only through the event loop, so a separate thread watches
 * the loop. Before a request to stop, the thread does not act on a slow or blocked loop.
 * @param longestMs how long the process may run after the request to stop, in milliseconds
 * @param times see `WatchdogTimes`
 * @returns `asked`: must be called when the event loop receives the request to stop; `ready`:
 * resolves when the thread is watching
 */
function endWhenOverdue(
  longestMs: number,
  { settledMs, patienceMs }: WatchdogTimes = TIMES,
): { asked(): void; ready: Promise<void> } {
  const cells = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const shared = new Int32Array(cells)
  // Find the pipes before anything else opens pipes.
  const pipes = signalPipes()
  const { SIGINT, SIGTERM } = constants.signals
  const signals = [SIGINT, SIGTERM]
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const begin = () => {
    const workerData: Watched = { cells, pipes, signals, patienceMs, longestMs }
    const beat = () => {
      Atomics.add(shared, TURNS, 1)
      Atomics.notify(shared, TURNS)
    }
    setInterval(beat, patienceMs / 2).unref()
    // Loaded here, because a start does not need it.
    const { Worker } = process.getBuiltinModule('node:worker_threads')
    const options = { eval: true, env: {}, execArgv: [], workerData }
    const worker = new Worker(`(${watch.toString()})()`, options)
    worker.once('message', () => resolve())
    worker.unref()
  }
  setTimeout(begin, settledMs).unref()
  return {
    asked() {
      Atomics.store(shared, IS_ASKED, 1)
    },
    ready,
  }
}

/**
 * How long an orderly shutdown may take, in milliseconds.
 *
 * It normally takes less. After this time, the remaining work is waiting for a reply that will not
 * come.
 */
const LONGEST_MS = 15_000

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The watchdog thread ends the process a little later than the timer of `stop` would. */
export const OVERDUE_MS = LONGEST_MS + 500

/**
 * Resolves at the first SIGINT or SIGTERM. A second signal ends the process immediately.
 *
 * If the event loop is blocked, it receives no signal. The process then ends `overdueMs` after the
 * first signal.
 * @param watched `times`: see `endWhenOverdue`; `onReady`: called when the watchdog thread is
 * watching
 */
export const askedToStop = (
  overdueMs = OVERDUE_MS,
  { times, onReady }: { times?: WatchdogTimes; onReady?: () => void } = {},
): Promise<void> =>
  new Promise((resolve) => {
    const overdue = endWhenOverdue(overdueMs, times)
    if (onReady !== undefined) void overdue.ready.then(onReady)
    const asked = () => {
      for (const signal of SIGNALS) process.off(signal, asked)
      overdue.asked()
      resolve()
    }
    for (const signal of SIGNALS) process.on(signal, asked)
  })

/**
 * Closes a server. After the time limit, the process exits without waiting.
 *
 * Like a crash, the exit loses nothing that was acknowledged.
 * @param longestMs the time limit, in milliseconds
 */
export async function stop(
  service: { close(): Promise<void> },
  log: Log,
  longestMs = LONGEST_MS,
): Promise<void> {
  log('info', 'stopping')
  const late = setTimeout(() => {
    log('warn', 'stopped before everything had ended')
    process.exit(1)
  }, longestMs)
  await service.close()
  clearTimeout(late)
}
