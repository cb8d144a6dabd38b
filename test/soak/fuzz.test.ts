/**
 * Generated requests at a running daemon: valid and invalid by the schemas of the table, and
 * mutated bytes of valid requests. A full run sends 200,000: 90,000 to the rows of the API,
 * 30,000 to its tools, 45,000 to the rows of the account listener, and 35,000 mutated ones.
 */
import assert from 'node:assert/strict'
import { type TestContext, after, before, describe, it } from 'node:test'
import { settledMib } from './daemon-process.ts'
import { type Job, endsAt, roundOf } from './fuzz-jobs.ts'
import { type Runner, newRunner } from './fuzz-run.ts'
import { type FuzzFixture, newFuzzFixture } from './fuzz-fixture.ts'
import { onItsOwn, withVictims } from './fuzz-victims.ts'
import { type Found, watch, workOff } from './fuzz-work.ts'
import { sized } from './size.ts'

const TOTAL = sized(3_000, 200_000)
/** Each round sends requests to every row. */
const ROUNDS = sized(1, 20)
/** The rounds after which all lazily loaded modules are loaded. */
const WARM = Math.min(2, ROUNDS)
const LANES = 16
/** The number of measurements of the idle daemon’s memory, two each second. */
const LOOKS = sized(2, 120)
const SEED = Number(process.env['SEED'] ?? sized(1, Date.now() % 1_000_000_000))

describe('generated requests to a running daemon', () => {
  let fixture: FuzzFixture
  let runner: Runner
  let jobs: Job[]
  const found: Found[] = []
  const mib = { warm: 0, after: 0 }
  let longestMs = 0
  let seconds = 0

  before(async () => {
    fixture = await newFuzzFixture(sized(4, 24))
    runner = newRunner(fixture, LANES)
    jobs = roundOf(fixture, runner, TOTAL / ROUNDS)
    const since = Date.now()
    const watching = watch(fixture, found)
    for (let round = 1; round <= ROUNDS; round++) {
      await workOff(jobs, { lanes: LANES, seed: SEED + round * 10_000 }, found)
      if (round === WARM) mib.warm = await settledMib(fixture.daemon, 0, LOOKS)
    }
    longestMs = await watching.end()
    seconds = (Date.now() - since) / 1000
    mib.after = await settledMib(fixture.daemon, mib.warm, LOOKS)
  })
  after(async () => {
    runner?.close()
    await fixture?.daemon.close()
  })

  for (const [at, fixtureOf, runs] of [
    ['account', withVictims, sized(20, 300)],
    ['api', onItsOwn, 30],
  ] as const)
    it(`accounts are deleted at the listener of the ${at}, and the daemon continues`, async () => {
      const place = await fixtureOf(fixture)
      const ending = newRunner(place, 1)
      const rows = endsAt(at, place, ending, runs)
      try {
        await workOff(rows, { lanes: 1, seed: SEED }, found)
        const went = rows.map(({ name }) => ending.counts.get(name)?.get('204') ?? 0)
        assert(
          went.every((times) => times > 0),
          JSON.stringify([...ending.counts].map(([row, answers]) => [row, [...answers]])),
        )
        assert.equal((await place.daemon.request('GET', '/health')).status, 200)
        assert.deepEqual(place.daemon.errors(), [])
      } finally {
        ending.close()
        if (place.daemon !== fixture.daemon) await place.daemon.close()
      }
    })

  const claims: [name: string, kind: Found['kind']][] = [
    ['the daemon never exits', 'crash'],
    ['every request is answered, or its connection closed', 'hang'],
    ['no answer is 500 or more', 'status'],
    ['every answer matches its row, and every error the common format', 'form'],
  ]
  for (const [name, wanted] of claims)
    it(name, () => {
      const texts = found.filter(({ kind }) => kind === wanted).map(({ text }) => text)
      assert.equal(texts.join('\n\n'), '', `SEED=${SEED}`)
    })

  it('no error is logged behind an answer', () =>
    assert.deepEqual(fixture.daemon.errors().slice(0, 10), []))

  /** Returns the number of answers of some rows that match. */
  const count = (isWanted: (row: string) => boolean, is: RegExp) =>
    [...runner.counts]
      .filter(([row]) => isWanted(row))
      .flatMap(([, answers]) => [...answers])
      .filter(([status]) => is.test(status))
      .reduce((sum, [, times]) => sum + times, 0)

  it('the requests reach the number, call every row, and succeed at most rows', (t: TestContext) => {
    const rows = jobs.map(({ name }) => name).filter((name) => !name.startsWith('bytes'))
    const never = rows.filter((name) => count((row) => row === name, /^2/) === 0)
    const figures = ['2', '4', '5', 'closed'].map(
      (start) => `${start}: ${count(() => true, new RegExp(`^${start}`))}`,
    )
    t.diagnostic(
      `${runner.sent()} requests in ${Math.round(seconds)} s, SEED=${SEED}; answers that begin with ${figures.join(', ')}`,
    )
    t.diagnostic(`${runner.restored()} times somebody who was locked out was let in again`)
    t.diagnostic(`of ${rows.length} rows and tools never said yes: ${never.join(', ') || 'none'}`)
    assert(runner.sent() >= TOTAL)
    assert.deepEqual(
      rows.filter((name) => !runner.counts.has(name)),
      [],
    )
    assert(never.length < rows.length * sized(0.6, 0.2))
  })

  it('words are checked, not only rate-limited', (t: TestContext) => {
    const answers = [...(runner.counts.get('api verify.words') ?? [])]
    t.diagnostic(`verify: ${answers.map(([status, times]) => `${times} × ${status}`).join(', ')}`)
    assert(count((row) => row === 'api verify.words' || row === 'tool verify_words', /^200/) > 0)
  })

  it('organisations are reached', () => assert(count((row) => row.startsWith('api org'), /^2/) > 0))

  it('the daemon frees its memory', (t: TestContext) => {
    const { warm, after: end } = mib
    t.diagnostic(
      `resident after warm-up ${warm.toFixed(0)} MiB, after all ${end.toFixed(0)} MiB; /health took ${longestMs.toFixed(0)} ms at most`,
    )
    // A short run is only a warm-up.
    if (ROUNDS > WARM) assert(end <= warm * 1.2)
  })
})
