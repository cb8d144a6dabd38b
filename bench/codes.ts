/**
 * Measures look-ups of spoken words with a hundred thousand connections. It measures the time of
 * a look-up, the longest stall of the event loop while the index of codes is built and while the
 * minute turns, and the memory of the index. The stall of an idle program is measured in
 * alternation: on a machine that others use, a stall means little without that comparison.
 *
 *   node --expose-gc bench/codes.ts
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { PERIOD_S, codeOf, codeReader } from '../src/crypto/code.ts'
import { ID_PREFIX, formatId, newId } from '../src/crypto/encoding/id.ts'
import { parseWords } from '../src/crypto/words.ts'
import { newCodeIndex } from '../src/device/codes/code-index.ts'
import { REAL_PACE } from '../src/device/codes/code-schedule.ts'
import { type Codes, openCodes } from '../src/device/codes/codes.ts'
import { type Vault, openVault } from '../src/device/identity/vault.ts'
import { type State, openState } from '../src/state/state.ts'
import { memoryKeychain } from '../test/keychain/memory.ts'
import { fillConnections } from './connections.ts'
import { median, say, stalled } from './figures.ts'

const CONNECTIONS = 100_000
const BUILDS = 3
const TURNS = 8
/** By then the window after the next is computed, in a slice of 1 ms every 10 ms. */
const AHEAD_MS = 1_800
const LOOKUPS = 20_000
const SAID = 2_000
const MIB = 2 ** 20
const PERIOD_MS = PERIOD_S * 1000

const shown = (values: readonly number[]) =>
  `${median(values).toFixed(1)} ms  (${values.map((value) => value.toFixed(1)).join(' ')})`

async function untilReady(codes: Codes, now: () => number): Promise<void> {
  for (let wait = codes.ready(now); wait !== null; wait = codes.ready(now)) await wait
}

/** Returns the median time of each item in microseconds, after a warm-up of the compiler. */
function settled<T>(items: readonly T[], once: (item: T) => void): string {
  for (const item of items) once(item)
  const taken = items.map((item) => {
    const from = process.hrtime.bigint()
    once(item)
    return Number(process.hrtime.bigint() - from) / 1000
  })
  return median(taken).toFixed(1)
}

function memory() {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heapUsed, arrayBuffers }
}

async function measure(state: State, vault: Vault, own: string, ids: readonly string[]) {
  const clock = { ms: Date.now() }
  const now = () => clock.ms
  // The bench turns the minute, and only the newest index is kept ahead of it; older ones are
  // dropped.
  let newest = 0
  const open = () => {
    const number = ++newest
    return openCodes(state, vault, own, {
      ...REAL_PACE,
      later: (ms, call) =>
        REAL_PACE.later(Math.min(ms, 50), () => {
          if (number === newest) call()
        }),
    })
  }

  let codes = open()
  const before = memory()
  const stalls: number[] = []
  const times: number[] = []
  for (let round = 0; round < BUILDS; round++) {
    codes = open()
    const from = performance.now()
    stalls.push(await stalled(() => untilReady(codes, now)))
    times.push((performance.now() - from) / 1000)
    if (round > 0) continue
    const after = memory()
    const [typed, heap] = [
      after.arrayBuffers - before.arrayBuffers,
      after.heapUsed - before.heapUsed,
    ].map((bytes) => (bytes / MIB).toFixed(1))
    say(`Memory of the index: ${typed} MiB of tables and ${heap} MiB of other objects`)
  }
  say(`First look-up after a start: ${median(times).toFixed(1)} s`)
  say(`Longest stall while the index is built: ${shown(stalls)}`)

  const turns: number[] = []
  const rests: number[] = []
  let late = 0
  await wait(AHEAD_MS)
  for (let turn = 0; turn < TURNS; turn++) {
    rests.push(await stalled(() => wait(AHEAD_MS)))
    turns.push(
      await stalled(async () => {
        clock.ms += PERIOD_MS
        if (codes.ready(now) !== null) late++
        await wait(AHEAD_MS)
      }),
    )
  }
  say(`Longest stall while the minute turns: ${shown(turns)}; look-ups that had to wait: ${late}`)
  say(`Longest stall in between, with nothing going on: ${shown(rests)}`)

  const pauses: number[] = []
  const waits: number[] = []
  for (let round = 0; round < BUILDS; round++) {
    clock.ms += 60 * PERIOD_MS
    const from = performance.now()
    pauses.push(await stalled(() => untilReady(codes, now)))
    waits.push(performance.now() - from)
  }
  say(
    `Longest stall at the first look-up after a pause: ${shown(pauses)}, answered after ${median(waits).toFixed(0)} ms`,
  )

  const word = () => Math.floor(Math.random() * 4096)
  const random = Array.from({ length: LOOKUPS }, () => [word(), word(), word()])
  const theirs = ids
    .slice(0, SAID)
    .map((id) => parseWords(codes.toSay(id, clock.ms)?.words ?? '', 3).indices)
  const find = (indices: readonly number[]) => void codes.find(indices, clock.ms)
  say(`Look-up of words that match nothing, median: ${settled(random, find)} µs`)
  say(`Look-up of words of a member, median: ${lookUps()} µs`)
  say(`The same, with the name of the member read from the state: ${settled(theirs, find)} µs`)
}

/** Measures look-ups in an index alone, from words to their speakers. Median microseconds. */
function lookUps(): string {
  const index = newCodeIndex()
  const [keys, ids] = [randomBytes(32 * CONNECTIONS), randomBytes(16 * 3 * CONNECTIONS)]
  const keyOf = (n: number) => keys.subarray(32 * n, 32 * n + 32)
  /** The first of three is the connection's id, the others are its members'. */
  const idOf = (n: number, which: number) => ids.subarray(16 * (3 * n + which)).subarray(0, 16)
  for (let n = 0; n < CONNECTIONS; n++)
    index.put(formatId(ID_PREFIX.connection, idOf(n, 0)), keyOf(n), [idOf(n, 1), idOf(n, 2)])
  const windows = [1, 2, 3]
  index.prepare(windows, () => false)
  const words = Array.from({ length: LOOKUPS }, (_, i) => {
    const n = (i * 7919) % CONNECTIONS
    return codeOf(codeReader(keyOf(n))(2, idOf(n, 2)))
  })
  return settled(words, (code) => {
    if (index.find(code, windows).length === 0) throw new Error('The index lacks these words.')
  })
}

const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const state = openState(stateDir)
try {
  const own = newId('acc_', Date.now())
  const vault = openVault(memoryKeychain(), state.secrets)
  await measure(state, vault, own, fillConnections(state, vault, own, CONNECTIONS))
} finally {
  state.close()
  rmSync(stateDir, { recursive: true })
}
