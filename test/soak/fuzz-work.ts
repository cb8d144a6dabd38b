/** Runs a list of jobs in parallel lanes, with an honest client beside them. */
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import type { Job } from './fuzz-jobs.ts'
import { Fault } from './fuzz-run.ts'
import type { FuzzFixture } from './fuzz-fixture.ts'
import { openWire } from './wire.ts'

/** The time limit for shrinking a failing request; a job that hangs is given up. */
const LONGEST_MS = 60_000
const LIMIT_MS = 20_000
const PAUSE_MS = 100

export interface Found {
  readonly kind: Fault['kind']
  /** The fault, with the data that reproduces it. */
  readonly text: string
}

const shuffled = <T>(list: readonly T[], seed: number): T[] => [
  ...(fc.sample(fc.shuffledSubarray([...list], { minLength: list.length }), {
    numRuns: 1,
    seed,
  })[0] as T[]),
]

/** Runs all jobs in an order that follows from the seed, and records every fault. */
export async function workOff(
  jobs: readonly Job[],
  { lanes, seed }: { lanes: number; seed: number },
  found: Found[],
): Promise<void> {
  const left = shuffled(jobs, seed)
  const lane = async (number: number) => {
    for (let job = left.pop(); job !== undefined; job = left.pop()) {
      if (found.some(({ kind }) => kind === 'crash')) return
      const own = seed + left.length
      const { failed, errorInstance, counterexamplePath } = await fc.check(job.property(number), {
        numRuns: job.runs,
        seed: own,
        interruptAfterTimeLimit: LONGEST_MS,
      })
      if (!failed) continue
      const kind = errorInstance instanceof Fault ? errorInstance.kind : 'form'
      found.push({
        kind,
        text: `${job.name} (seed ${own}, path ${counterexamplePath}): ${String(errorInstance)}`,
      })
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)))
}

export interface Watch {
  /** Stops the requests. Returns the longest time of an answer, in milliseconds. */
  end(): Promise<number>
}

/** Requests the health of both listeners repeatedly. */
export function watch(fixture: FuzzFixture, found: Found[]): Watch {
  let isOver = false
  const asked = (['api', 'account'] as const).map((at) => ({
    wire: openWire(fixture.port(at), LIMIT_MS),
    bytes: Buffer.from(`GET /health HTTP/1.1\r\nHost: localhost:${fixture.port(at)}\r\n\r\n`),
  }))
  async function run(): Promise<number> {
    let longest = 0
    while (!isOver) {
      for (const { wire, bytes } of asked) {
        const since = performance.now()
        const reply = await wire.ask(bytes)
        if (reply?.status !== 200) throw new Error(`/health answered ${reply?.status}`)
        longest = Math.max(longest, performance.now() - since)
      }
      await setTimeout(PAUSE_MS)
    }
    return longest
  }
  const running = run().catch((error: unknown) => {
    found.push({ kind: 'hang', text: `Beside all others: ${String(error)}` })
    return Infinity
  })
  return {
    async end() {
      isOver = true
      const longest = await running
      for (const { wire } of asked) wire.close()
      return longest
    },
  }
}
