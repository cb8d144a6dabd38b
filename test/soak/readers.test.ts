/**
 * Programs that read the events of a daemon, which is killed at any moment under writes. Together,
 * what each receives is what was stored, or a gap stands where events were deleted, and each write
 * that was answered has its event.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { ShownEvent } from '../../src/state/events.ts'
import { caller } from '../e2e/caller.ts'
import type { Running } from '../e2e/program.ts'
import { type Chance, chance } from './chance.ts'
import { newEventEffects } from './event-effects.ts'
import { newFollower, newHistory } from './event-history.ts'
import { BEFORE_ALL, type Habits, type Run, newProgram } from './event-programs.ts'
import { newLedger } from './ledger.ts'
import { kill, settled, stageOf, started } from './lives.ts'
import { sized } from './size.ts'
import { writeUntil } from './writers.ts'

/** The number of kills of one state folder. */
const LIFE = 50
/** After one kill of this many, more events are stored than the daemon keeps. */
const CROWDED = 10
/** The number and the length of the events that are then added. */
const CROWD = [10_000, 20] as const
/** More bytes than the sockets of a reader can hold that does not read. */
const LARGE_CROWD = [3000, 4000] as const
/** The longest pause of a slow reader after each chunk, in milliseconds. */
const LONGEST_PAUSE_MS = 300

const READERS: readonly Habits[] = [
  { means: ['header'] },
  { means: ['since'], since: '1970-01-01T00:00:00Z' },
  { means: ['wait'], since: BEFORE_ALL },
  { means: ['header'], types: 'connection.*,token.*' },
  { means: ['wait'], types: 'token.created,stamp.created,guest_code.*' },
  { means: ['header', 'since', 'wait'], since: BEFORE_ALL, isHasty: true },
  {
    means: ['header', 'wait'],
    types: 'token.*,verification.made',
    since: BEFORE_ALL,
    isHasty: true,
  },
  { means: ['header', 'since'], isSlow: true },
]
const SLOW = READERS.findIndex(({ isSlow }) => isSlow)

let numbers = 0
const next = () => ++numbers

/** Creates the readers of one folder, and the check of everything after each kill. */
function observed(dir: string, dice: Chance) {
  const history = newHistory(dir)
  const effects = newEventEffects(dir)
  const ledger = newLedger()
  const readers = READERS.map((habits) => ({
    program: newProgram(habits, dice),
    follower: newFollower(history, habits.types),
  }))
  /** Reads the new events from the file. */
  function read(): readonly ShownEvent[] {
    const events = history.read()
    effects.add(events)
    return events
  }

  return {
    history,
    ledger,
    readers,
    read,
    inspect: (): void => {
      read()
      effects.requireTables()
      effects.requireAcknowledged(ledger)
      for (const { program, follower } of readers) follower.check(program.taken())
    },
  }
}

type Observed = ReturnType<typeof observed>

/** Begins the time of one daemon for all programs. `pause` is that of slow ones. */
function begun(
  { address }: Running,
  token: string,
  pause: (over: AbortSignal) => Promise<unknown>,
) {
  const over = new AbortController()
  const run: Run = { address, token, over: over.signal, pause: () => pause(over.signal) }
  return { run, end: () => over.abort() }
}

/**
 * Lets all programs read to the end. The slow one reads on only after the events at its place were
 * deleted.
 */
async function catchUp(daemon: Running, token: string, of: Observed): Promise<void> {
  const { history, readers, read, inspect } = of
  const [paused, deleted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { run, end } = begun(daemon, token, () => {
    paused.resolve()
    return deleted.promise
  })
  const reading = Promise.all(
    readers.map(async ({ program }) => {
      // None stays away now.
      while (!run.over.aborted) await program.read(run)
    }),
  )
  const call = caller(daemon.address, token)
  const write = () => call('POST /api/v1/api-tokens', { name: 'last', scope: 'read' })

  async function overtake(): Promise<string> {
    await paused.promise
    while (!history.hasDeleted()) await write()
    deleted.resolve()
    const { id } = await write()
    // A program that missed that event has another place then, and is not waited for in vain.
    await write()
    const [last] = read().filter(({ data }) => data['token_id'] === id)
    assert(last !== undefined)
    const places = history.placesBefore(last.id)
    await Promise.all(readers.map(({ program }) => program.isPast(places)))
    return last.id
  }

  const last = await Promise.race([overtake(), reading.then(() => assert.fail())])
  end()
  assert.equal(await daemon.end('SIGTERM'), 0, daemon.log())
  await reading
  inspect()
  for (const { follower } of readers) assert((follower.at() ?? 0) >= history.seqOf(last))
  assert((readers[SLOW]?.follower.count.overflow ?? 0) > 0, 'the slow reader was overtaken')
}

/** Kills the daemon of one folder this many times while programs read; returns the counts. */
async function live(t: TestContext, dice: Chance, kills: number) {
  const { dir, token, organisation, ...first } = await settled(t)
  const of = observed(dir, dice)
  const { history, ledger, readers, inspect } = of
  let written = 0
  const shortly = (signal: AbortSignal) =>
    setTimeout(dice.below(LONGEST_PAUSE_MS), undefined, { signal }).catch(() => undefined)
  for (let number = 0; number < kills; number++) {
    const daemon = number === 0 ? first.daemon : await started(t, dir)
    const { run, end } = begun(daemon, token, shortly)
    const reading = Promise.all(readers.map(({ program }) => program.read(run)))
    // A fault is thrown below, after the writes.
    reading.catch(() => undefined)
    const stage = stageOf(daemon, token)
    written += await writeUntil({ stage, ledger, chance: dice, organisation, next }, () => {
      end()
      return kill(daemon, number, dice)
    })
    await reading
    inspect()
    if (number % CROWDED === 1) history.crowd(...CROWD)
  }
  history.crowd(...LARGE_CROWD)
  history.age()
  await catchUp(await started(t, dir), token, of)
  const sum = (name: 'events' | 'gap' | 'overflow') =>
    readers.reduce((all, { follower }) => all + follower.count[name], 0)
  return {
    written,
    stored: history.last(),
    received: sum('events'),
    gaps: sum('gap'),
    overflows: sum('overflow'),
  }
}

test('readers of events over kill -9 of the daemon receive each event, or a gap', async (t) => {
  const dice = chance(t)
  const kills = sized(3, 1000)
  const all = { written: 0, stored: 0, received: 0, gaps: 0, overflows: 0 }
  for (let rest = kills; rest > 0; rest -= LIFE) {
    const found = await live(t, dice, Math.min(rest, LIFE))
    for (const name of Object.keys(all) as (keyof typeof all)[]) all[name] += found[name]
  }
  t.diagnostic(
    `${kills} kills, ${all.written} writes acknowledged, ${all.stored} events stored, ${all.received} received by ${READERS.length} readers, ${all.gaps} gaps, ${all.overflows} overflows, 0 lost or doubled`,
  )
})
