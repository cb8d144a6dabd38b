/** Ends a server on request: in order, and within a time limit. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { constants } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Log } from '../log.ts'

/** When the thread starts and how soon it considers the event loop blocked, in milliseconds. */
interface WatchdogTimes {
  /** The delay of the thread’s start. The start of the program is over by then, so not delayed. */
  readonly settledMs: number
  /**
   * Without a report of the event loop for so long, the loop is blocked and a signal may be
   * waiting. The loop reports twice as often.
   */
  readonly patienceMs: number
}
const TIMES: WatchdogTimes = { settledMs: 2_000, patienceMs: 2_000 }

/** Indices into the numbers that both threads share. */
const TURNS = 0
const IS_ASKED = 1

interface Watched {
  readonly cells: SharedArrayBuffer
  /**
   * The descriptors of the pipes that may hold a signal: where it is read, and where it was
   * written.
   */
  readonly pipes: readonly (readonly [reading: string, writing: string])[]
  readonly signals: readonly number[]
  readonly patienceMs: number
  readonly longestMs: number
}

/**
 * The code of the thread. It is passed as text, so it refers only to `workerData`.
 *
 * libuv's signal handler runs even while the event loop is blocked. It writes 16 bytes to a pipe,
 * from which the event loop reads them: a pointer and the signal's number. While the loop is
 * blocked they stay in the pipe. The thread reads them and writes them back for the loop.
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

  /** Whether one of the signals waits in a pipe. */
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
 * The pipes by which libuv forwards signals to event loops: those with both ends in this process,
 * both non-blocking. The blocking pipe is libuv's lock and must not be touched. Empty without
 * `/proc`.
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
      // The descriptor of the folder itself: it is closed by now.
    }
  return [...ends.values()].flatMap(({ reading, writing }) =>
    reading === undefined || writing === undefined ? [] : [[reading, writing] as const],
  )
}

/**
 * Ends this process if it was asked to stop while its event loop is blocked. JavaScript receives
 * signals and timers through the event loop alone, so a separate thread watches the loop. The
 * thread acts only after a request to stop: until then it leaves a slow or blocked loop alone.
 * @param longestMs how long the process may live after the request to stop, in milliseconds
 * @param times see `Times`
 * @returns `asked`: to be called when the event loop has received that request; `ready`: resolves
 *   when the thread watches
 */
function endWhenOverdue(
  longestMs: number,
  { settledMs, patienceMs }: WatchdogTimes = TIMES,
): { asked(): void; ready: Promise<void> } {
  const cells = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const shared = new Int32Array(cells)
  // Before anything else opens pipes.
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
 * Longer than an orderly shutdown takes. After it, pending work waits for a reply that will not
 * come.
 */
const LONGEST_MS = 15_000

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The watchdog thread ends the process later than the timer of `stop`. */
const OVERDUE_MS = LONGEST_MS + 500

/**
 * Resolves at the first SIGINT or SIGTERM. A second one ends the process at once.
 * A blocked event loop receives no signal: then the process ends `overdueMs` after the first one.
 * @param watched `times`: see `endWhenOverdue`; `onReady`: called when its thread watches
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
 * Closes a server. After the time limit the process exits without waiting.
 * Like a crash, that loses nothing that was acknowledged.
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
