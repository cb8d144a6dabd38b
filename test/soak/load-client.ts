/**
 * The crowd, in a process of its own so that no measurement of a server includes it: a message
 * sets its target, and it reports the results.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { type Given, newCrowd } from './load-crowd.ts'
import { idle, readSlowly, writeSlowly } from './load-beside.ts'
import { type Known, newPerson } from './load-person.ts'
import { STORIES } from './load-stories.ts'

export interface Job {
  readonly port: number
  readonly people: number
  readonly seconds: number
  /** The pause between an answer and the next request of the same person. */
  readonly pauseMs: number
  readonly idle: number
  readonly slowMs: { readonly writer: number; readonly reader: number }
  /** Whether answers are checked against the requests. */
  readonly judges: boolean
}

export interface Timing {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
}

export interface ClientReport {
  readonly wrong: readonly string[]
  /** Of ordinary and hostile requests together, after all persons had arrived. */
  readonly all: Timing
  /** The part of them that opened a new connection. */
  readonly opening: Timing
  readonly kinds: Readonly<Record<string, Timing>>
  readonly given: Readonly<Record<string, Given>>
  readonly seconds: number
  /** How long the crowd’s own event loop was delayed, in milliseconds. */
  readonly heldUpMs: number
  readonly slow: { readonly written: number; readonly read: number }
  readonly idle: string
  /** The expected data at the end, by the crowd’s own answers. */
  readonly left: { readonly tags: readonly string[]; readonly connections: Record<string, string> }
}

/** Less than the twenty wrong guesses that a minute allows. */
const GUESSES = 15
/**
 * The number of persons that arrive at the same time: their writes go to the disk one after the
 * other.
 */
const AT_THE_DOOR = 20

function timing(times: readonly number[]): Timing {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), longest: at(1) }
}

async function run(job: Job): Promise<ClientReport> {
  const crowd = newCrowd(job.port, job.people, job.judges)
  let [from, guesses] = [Infinity, 0]
  const secondsSince = () => (performance.now() - from) / 1000
  const known: Known = {
    account: '',
    requests: 0,
    owners: new Map(),
    words: new Map(),
    mayGuess: () =>
      secondsSince() > (guesses / GUESSES) * Math.max(60, job.seconds) && ++guesses > 0,
  }
  const people = Array.from({ length: job.people }, (_, number) => newPerson(crowd, known, number))
  const coming = people.values()
  await Promise.all(
    Array.from({ length: AT_THE_DOOR }, async () => {
      for (const one of coming) await one.arrive()
    }),
  )
  const [{ person: first }] = people as [(typeof people)[number]]
  known.account = (await first.ask('context', 'GET /api/v1/context')).user.id
  const sitting = await idle(crowd, job.idle)

  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  crowd.start()
  from = performance.now()
  const over = () => secondsSince() >= job.seconds
  const { token } = first
  // At the end, the slow clients finish without pauses.
  const pace = (ms: number) => () => (over() ? 0 : ms)
  const [written, read, idleResult] = await Promise.all([
    writeSlowly(crowd, { token, pace: pace(job.slowMs.writer) }, over),
    readSlowly(crowd, pace(job.slowMs.reader), over),
    setTimeout(job.seconds * 1000).then(() => sitting.end()),
    ...people.map((one) => one.live(STORIES, pace(job.pauseMs), over)),
  ])
  const seconds = secondsSince()
  delay.disable()
  for (const one of people) one.close()

  const { took, opening, given, wrong } = crowd.outcomes
  const beside = ['idle', 'slow writer', 'slow writer, and away', 'document']
  const kinds = [...took].filter(([kind]) => !beside.includes(kind))
  return {
    wrong,
    all: timing(kinds.flatMap(([, times]) => times)),
    opening: timing(opening),
    kinds: Object.fromEntries(kinds.map(([kind, times]) => [kind, timing(times)])),
    given: Object.fromEntries(given),
    seconds,
    heldUpMs: delay.percentile(99) / 1e6 - 5,
    slow: { written, read },
    idle: idleResult,
    left: {
      tags: people.flatMap(({ person }) => person.tags),
      connections: Object.fromEntries(
        people.map(({ person: { connection, name } }) => [connection, name]),
      ),
    },
  }
}

process.once('message', (job: Job) => {
  void run(job).then((answer) => process.send?.(answer, () => process.disconnect()))
})
