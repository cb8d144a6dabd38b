/** Working a list of jobs off, in lanes side by side, with somebody honest who asks beside them. */
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import type { Job } from './fuzz-jobs.ts'
import { Fault } from './fuzz-run.ts'
import type { Town } from './fuzz-town.ts'
import { openWire } from './wire.ts'

/** A failing request is made smaller for so long, and a job that hangs is given up. */
const LONGEST_MS = 60_000
const LIMIT_MS = 20_000
const PAUSE_MS = 100

export interface Found {
  readonly kind: Fault['kind']
  /** With what repeats it. */
  readonly text: string
}

const shuffled = <T>(list: readonly T[], seed: number): T[] => [
  ...(fc.sample(fc.shuffledSubarray([...list], { minLength: list.length }), {
    numRuns: 1,
    seed,
  })[0] as T[]),
]

/** Do all jobs, in an order of the seed's, and note every fault. */
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
  /** Stop asking. Answers the longest that an answer took, in milliseconds. */
  end(): Promise<number>
}

/** Ask both listeners for their health, again and again. */
export function watch(town: Town, found: Found[]): Watch {
  let isOver = false
  const asked = (['api', 'account'] as const).map((at) => ({
    wire: openWire(town.port(at), LIMIT_MS),
    bytes: Buffer.from(`GET /health HTTP/1.1\r\nHost: localhost:${town.port(at)}\r\n\r\n`),
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
