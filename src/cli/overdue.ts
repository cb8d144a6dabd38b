/**
 * Ends a process that was asked to stop and whose event loop does not turn any more. JavaScript hears of a signal, and of a
 * timer, from the event loop alone, so a thread of its own watches the loop. It acts only after somebody asked for the stop:
 * a loop that is slow, or even stuck, is left alone until then.
 */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { constants } from 'node:os'
import { Worker } from 'node:worker_threads'

/** How often the event loop reports that it turns. */
const BEAT_MS = 1_000
/** Two of these without a report: the loop is held up, and may have a signal waiting. */
const PATIENCE_MS = 2_000
/** A start is over by then, and pays nothing for the thread. */
const SETTLED_MS = 2_000

/** Numbers that both threads see. */
const TURNS = 0
const IS_ASKED = 1

interface Watched {
  readonly cells: SharedArrayBuffer
  /** The descriptors of the pipes that may hold a signal: where it is read, and where it was written. */
  readonly pipes: readonly (readonly [reading: string, writing: string])[]
  readonly signals: readonly number[]
  readonly patienceMs: number
  readonly longestMs: number
}

/**
 * What the thread runs. It is passed on as text, so it refers to nothing outside but its data.
 *
 * The handler that libuv installs for a signal runs whatever the program does, and writes 16 bytes to a pipe, from which the event
 * loop reads them: a pointer, and the signal's number. While the loop is held up they stay there. The thread reads them, and
 * writes them back for the loop.
 */
function watch(): void {
  const { workerData } = process.getBuiltinModule('node:worker_threads')
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
      // Nothing is in it.
      return false
    } finally {
      closeSync(from)
    }
  }

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
 * The pipes through which libuv passes signals on to event loops, found as those whose two ends are both here and do not block. The
 * one that does block is libuv's lock, and must not be touched. Empty where there is no `/proc`.
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
      // It was that of the folder itself, and is closed by now.
    }
  return [...ends.values()].flatMap(({ reading, writing }) =>
    reading === undefined || writing === undefined ? [] : [[reading, writing] as const],
  )
}

/**
 * Watch the event loop of this process from another thread.
 * @param longestMs how long after the stop was asked for the process may live, in milliseconds
 * @returns `asked`: to be called when the loop itself has heard of it
 */
export function endWhenOverdue(longestMs: number): { asked(): void } {
  const cells = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const shared = new Int32Array(cells)
  // Before anything else opens pipes.
  const pipes = signalPipes()
  const { SIGINT, SIGTERM } = constants.signals
  const signals = [SIGINT, SIGTERM]
  const begin = () => {
    const workerData: Watched = { cells, pipes, signals, patienceMs: PATIENCE_MS, longestMs }
    const beat = () => {
      Atomics.add(shared, TURNS, 1)
      Atomics.notify(shared, TURNS)
    }
    setInterval(beat, BEAT_MS).unref()
    const options = { eval: true, env: {}, execArgv: [], workerData }
    new Worker(`(${watch.toString()})()`, options).unref()
  }
  setTimeout(begin, SETTLED_MS).unref()
  return {
    asked() {
      Atomics.store(shared, IS_ASKED, 1)
    },
  }
}
