/** Measures the time of a program to its first answer, and its memory at rest. */
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { median, say } from './figures.ts'
import { type Program, cpuMs, rssMib } from './programs.ts'

type Spawn = () => Program
/** The two compared programs, each as the function that starts it. */
interface Pair {
  readonly ours: Spawn
  readonly peer: Spawn
}

const RESTS = 5
/** When memory is measured, in seconds after the first answer: also after the idle collection. */
const REST_S = [1, 15]

/** Resolves when the program answers; requests are repeated until then. */
async function firstAnswer(port: number): Promise<void> {
  const asked = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () =>
        socket.write(`GET /health HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`),
      )
      socket.once('error', () => resolve(false))
      socket.once('data', () => {
        socket.destroy()
        resolve(true)
      })
    })
  while (!(await asked())) await wait(1)
}

/**
 * Starts a program and stops it after its first answer. Returns milliseconds from spawn to that
 * answer.
 */
export async function startMs(spawnIt: Spawn): Promise<number> {
  const from = performance.now()
  const program = spawnIt()
  await firstAnswer(program.port)
  const ms = performance.now() - from
  await program.stop()
  return ms
}

/**
 * Starts a program and stops it after its first answer. Returns the processor time that the program
 * used until then, in milliseconds.
 */
async function startCpuMs(spawnIt: Spawn): Promise<number> {
  const program = spawnIt()
  await firstAnswer(program.port)
  const ms = cpuMs(program.process.pid ?? 0)
  await program.stop()
  return ms
}

/** Starts a program and stops it later. Returns its resident memory at rest, in MiB. */
async function restMib(spawnIt: Spawn, seconds: number): Promise<number> {
  const program = spawnIt()
  await firstAnswer(program.port)
  await wait(1000 * seconds)
  const rss = rssMib(program.process.pid ?? 0)
  await program.stop()
  return rss
}

/** Returns the medians of both, measured in alternation. */
async function inTurns(
  { ours, peer }: Pair,
  rounds: number,
  measure: (spawnIt: Spawn) => Promise<number>,
): Promise<[ours: number, peer: number]> {
  const [mine, theirs]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    theirs.push(await measure(peer))
    mine.push(await measure(ours))
  }
  return [median(mine), median(theirs)]
}

/**
 * Prints the cost of starting and resting against a peer. The starts follow directly on one
 * another, because an idle system evicts cached pages of a program's file.
 */
export async function compareStarts(pair: Pair, peer: string, rounds: number): Promise<void> {
  const report = (what: string, unit: string, [a, b]: readonly [number, number]) =>
    say(
      `${what}, ours ÷ ${peer}: ${(a / b).toFixed(2)}  (${a.toFixed(1)} ${unit} ÷ ${b.toFixed(1)} ${unit})`,
    )
  report('Spawn → first answer', 'ms', await inTurns(pair, rounds, startMs))
  report('Processor time to the first answer', 'ms', await inTurns(pair, rounds, startCpuMs))
  for (const seconds of REST_S)
    report(
      `Idle RSS after ${seconds} s`,
      'MiB',
      await inTurns(pair, RESTS, (spawnIt) => restMib(spawnIt, seconds)),
    )
}
