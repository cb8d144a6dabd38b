/** How long a program takes to its first answer, and what it needs at rest. */
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { median, say } from './figures.ts'
import { type Program, rssMib } from './programs.ts'

type Spawn = () => Program
/** What is compared, as what starts it. */
interface Pair {
  readonly ours: Spawn
  readonly peer: Spawn
}

const RESTS = 5

/** Resolves when the program answers; it is asked again until it does. */
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

/** Start a program, and end it when it has answered: milliseconds from spawn to the first answer. */
export async function startMs(spawnIt: Spawn): Promise<number> {
  const from = performance.now()
  const program = spawnIt()
  await firstAnswer(program.port)
  const ms = performance.now() - from
  await program.stop()
  return ms
}

/** Start a program and end it after a second: its resident memory at rest, in MiB. */
async function restMib(spawnIt: Spawn): Promise<number> {
  const program = spawnIt()
  await firstAnswer(program.port)
  await wait(1000)
  const rss = rssMib(program.process.pid ?? 0)
  await program.stop()
  return rss
}

/** Medians of both, in turns. */
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
 * Say what starting and resting costs beside a peer. The starts follow on one another: a system that has nothing to do takes
 * away what it holds of a program's file.
 */
export async function compareStarts(pair: Pair, peer: string, rounds: number): Promise<void> {
  const told = (what: string, unit: string, [a, b]: readonly [number, number]) =>
    say(
      `${what}, ours ÷ ${peer}: ${(a / b).toFixed(2)}  (${a.toFixed(1)} ${unit} ÷ ${b.toFixed(1)} ${unit})`,
    )
  told('Spawn → first answer', 'ms', await inTurns(pair, rounds, startMs))
  told('Idle RSS', 'MiB', await inTurns(pair, RESTS, restMib))
}
