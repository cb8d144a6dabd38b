/**
 * Readers of events, directly over a database in memory that keeps few events: for every order of
 * appends, deletions of old events, slow readings and disconnects, a reader gets what was appended,
 * or a gap stands where events are missing.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import { newEventReader } from '../../src/api/event-stream.ts'
import { newEventReaders } from '../../src/handlers/event-readers.ts'
import { startingPlace } from '../../src/handlers/events.ts'
import { eventRows } from '../../src/state/events.ts'
import { stateVersion15 } from '../../src/state/migrations/015-events.ts'

const DAY_MS = 24 * 3_600_000

/** An event by its number, or a mark where events are missing. */
type Got = number | 'gap' | 'overflow'

interface Shown {
  readonly type: string
  readonly data: { readonly name?: string }
}

const gotOf = ({ type, data }: Shown): Got =>
  type === 'gap' || type === 'overflow' ? type : Number(data.name)

/** Creates events that are numbered from 0, of which few are kept, and readers of them. */
function opened() {
  const db = new DatabaseSync(':memory:')
  db.exec(stateVersion15.statements)
  let at = 1e12
  let count = 0
  const now = () => at
  const rows = eventRows(db, now, { most: 6, longestMs: 7 * DAY_MS, pruneEvery: 3 })
  const stopping = new AbortController()
  const readers = newEventReaders(rows, { now, stopping: stopping.signal })

  function append(): void {
    rows.append('token.created', { token_id: 'tok_', name: String(count) })
    count += 1
  }

  /** Creates a program that reads as long as it lives, from the next event on. */
  function newProgram() {
    const first = count
    const got: Got[] = []
    let place: string | undefined
    let stream: AsyncIterator<Uint8Array> | null = null
    let parse = newEventReader()
    /** Whether the beginning of the stream was read. */
    let hasBegun = false
    const reader = () => ({
      owner: 'tok',
      isAllowed: () => true,
      wants: () => true,
      from: startingPlace(rows, place),
    })
    /** Whether a reading would not wait. */
    const isBehind = () =>
      startingPlace(rows, place).isGap || startingPlace(rows, place).seq < rows.last()
    const read = {
      /** Takes the next part of a stream; opens one if there is none. */
      async stream(): Promise<void> {
        stream ??= readers.stream(reader())[Symbol.asyncIterator]()
        // Without an event, the stream would wait for one.
        if (hasBegun && !isBehind()) return
        hasBegun = true
        const { done, value } = await stream.next()
        if (done === true) return read.disconnect()
        const text = new TextDecoder().decode(value as Uint8Array)
        for (const [, id] of text.matchAll(/^id: (.*)$/gm)) place = id
        for (const { data } of parse(value as Uint8Array))
          got.push(gotOf(JSON.parse(data) as Shown))
      },
      async wait(): Promise<void> {
        await read.disconnect()
        const { items, since } = await readers.wait(reader(), 0)
        got.push(...items.map((one) => gotOf(one as Shown)))
        place = since
      },
      async disconnect(): Promise<void> {
        await stream?.return?.()
        stream = null
        hasBegun = false
        parse = newEventReader()
      },
    }
    return { first, got, read, isBehind }
  }

  return {
    append,
    count: () => count,
    isStored: (number: number) => rows.idOf(number + 1) !== null,
    newProgram,
    later: (ms: number) => {
      at += ms
    },
    close: () => {
      stopping.abort()
      db.close()
    },
  }
}

/**
 * Checks that marks stand where events are missing, and nowhere else. If the event at the own place
 * of a reader was deleted, nothing may be missing after the mark.
 */
function requireMarked(
  got: readonly Got[],
  first: number,
  isStored: (number: number) => boolean,
): void {
  let expected = first
  let marks: Got[] = []
  for (const one of got) {
    if (typeof one !== 'number') {
      marks.push(one)
      continue
    }
    const isMissing = one > expected
    assert(one >= expected, `${one} comes again: ${got.join(' ')}`)
    if (isMissing || isStored(expected - 1)) {
      assert.equal(marks.includes('gap'), isMissing, `before ${one}: ${got.join(' ')}`)
      if (!isMissing) assert.deepEqual(marks, [], got.join(' '))
    }
    expected = one + 1
    marks = []
  }
}

const step = fc.oneof(
  { weight: 5, arbitrary: fc.constant('append' as const) },
  { weight: 1, arbitrary: fc.constant('burst' as const) },
  { weight: 4, arbitrary: fc.constant('stream' as const) },
  { weight: 2, arbitrary: fc.constant('wait' as const) },
  { weight: 1, arbitrary: fc.constant('disconnect' as const) },
  { weight: 1, arbitrary: fc.constant('later' as const) },
)

test('a reader gets what was appended, or a gap stands exactly where not', async () => {
  const seen = new Set<Got>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { append, count, isStored, newProgram, later, close } = opened()
      const { first, got, read, isBehind } = newProgram()
      await read.stream()
      for (const one of steps)
        if (one === 'append') append()
        else if (one === 'burst') for (let n = 0; n < 10; n++) append()
        else if (one === 'later') later(3 * DAY_MS)
        else await read[one]()
      // At the end it reads all that is left.
      for (let n = 0; isBehind() && n < 100; n++) await read.stream()
      await read.disconnect()
      requireMarked(got, first, isStored)
      close()
      const numbers = got.filter((one) => typeof one === 'number')
      if (count() > first) assert.equal(numbers.at(-1), count() - 1, 'the newest event arrived')
      for (const one of got) seen.add(one)
    }),
    { numRuns: 300 },
  )
  assert(seen.has('gap') && seen.has('overflow'), 'the orders cause gaps')
})

test('a request that waits fails if the events cannot be read', async () => {
  const db = new DatabaseSync(':memory:')
  db.exec(stateVersion15.statements)
  const rows = eventRows(db)
  const after = (): never => {
    throw new Error('unreadable')
  }
  const { signal } = new AbortController()
  const readers = newEventReaders({ ...rows, after }, { now: Date.now, stopping: signal })
  const reader = { owner: 'tok', isAllowed: () => true, wants: () => true }
  const waiting = readers.wait({ ...reader, from: startingPlace(rows, undefined) }, 60_000)
  rows.append('token.created', { token_id: 'tok_', name: 'one' })
  await assert.rejects(waiting, /unreadable/)
})
