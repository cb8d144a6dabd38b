/** All events that a state folder ever stored, and what a program must receive of them. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isChosen } from '../../src/api/live/event-types.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { type EventRow, type ShownEvent, eventRows, shownEvent } from '../../src/state/events.ts'
import { transaction } from '../../src/storage/sqlite.ts'
import { BEFORE_ALL, type Received } from './event-programs.ts'
import { asked } from './whole.ts'

/** Events are read from the file after this many, before any of them is deleted. */
const PART = 5000
/** The daemon deletes old events when it stores one whose number this divides. */
const PRUNE_EVERY = 100
/** Longer than a daemon keeps an event. */
const LONG_MS = 8 * 24 * 3_600_000

/** A row of the table. */
type Stored = Omit<EventRow, 'data'> & { readonly data: string }

type History = ReturnType<typeof newHistory>

/** Reads the events of a folder whose daemon was killed. */
export function newHistory(dir: string) {
  const path = join(dir, 'state.db')
  const all: ShownEvent[] = []
  const seqs = new Map<string, number>()
  let oldest = 1

  /** Adds the events that are new in the database; all others must be as before. */
  function extend(db: DatabaseSync): ShownEvent[] {
    const known = all.length
    const rows = db.prepare('select * from events order by seq').all() as unknown as Stored[]
    oldest = rows[0]?.seq ?? known + 1
    for (const [i, row] of rows.entries()) {
      assert.equal(row.seq, oldest + i, 'a number is missing')
      const shown = shownEvent({ ...row, data: JSON.parse(row.data) as EventRow['data'] })
      if (row.seq <= known) assert.equal(all[row.seq - 1]?.id, row.id)
      else {
        assert.equal(all.push(shown), row.seq, 'an event was deleted early')
        seqs.set(row.id, row.seq)
      }
    }
    return all.slice(known)
  }

  const seqOf = (id: string): number => seqs.get(id) ?? assert.fail(`the event ${id} is not stored`)

  function changed(change: (db: DatabaseSync) => void): void {
    const db = new DatabaseSync(path)
    try {
      change(db)
    } finally {
      db.close()
    }
  }

  return {
    at: (seq: number): ShownEvent => all[seq - 1] ?? assert.fail(`there is no event ${seq}`),
    seqOf,
    /** Returns the number of the oldest event that was stored when the file was last read. */
    oldest: () => oldest,
    last: () => all.length,
    /** Returns the places before an event. */
    placesBefore: (id: string): ReadonlySet<string> =>
      new Set([BEFORE_ALL, ...all.slice(0, seqOf(id) - 1).map((one) => one.id)]),
    /** Returns whether events were deleted since the file was last read. */
    hasDeleted: () =>
      asked(path, (db) => db.prepare('select 1 from events where seq = ?').get(oldest)) ===
      undefined,
    /** Reads the file; returns the events that are new since the last call. */
    read: (): ShownEvent[] => asked(path, extend),
    /**
     * Adds some more events than this many, with a text of this length. A daemon deletes old ones
     * at one of its next ten events.
     */
    crowd(count: number, length: number): void {
      changed((db) => {
        const rows = eventRows(db)
        const enough = all.length + count
        const kind = 'x'.repeat(length)
        for (let isOver = false; !isOver; extend(db))
          transaction(db, () => {
            for (let n = 0; n < PART && !isOver; n++) {
              const notification_id = newId('ntf_', Date.now())
              rows.append('notification.read', { notification_id, kind })
              const last = rows.last()
              isOver = last > enough && last % PRUNE_EVERY === PRUNE_EVERY - 10
            }
          })
      })
    },
    /** Makes all events so old that the daemon deletes them, except the newest. */
    age(): void {
      changed((db) => db.prepare('update events set at = at - ?').run(LONG_MS))
      for (let seq = oldest; seq <= all.length; seq++) {
        const event = all[seq - 1] as ShownEvent
        const timestamp = new Date(Date.parse(event.timestamp) - LONG_MS).toISOString()
        all[seq - 1] = { ...event, timestamp }
      }
    },
  }
}

/**
 * Returns a function that checks what a program received: every event in order and once, and where
 * events were deleted, exactly there a gap.
 */
export function newFollower(history: History, types = '*') {
  const wants = ({ type }: ShownEvent) =>
    types === '*' || types.split(',').some((one) => isChosen(one, type))
  /** The number of the last event that the program needs no more; null before it began. */
  let at: number | null = null
  let isOverflowed = false
  const count = { events: 0, gap: 0, overflow: 0 }

  function requireNone(before: number): void {
    for (let seq = (at ?? before) + 1; seq < before; seq++)
      assert(!wants(history.at(seq)), `event ${seq} is missing, before ${before}`)
  }

  const take = {
    event({ event }: Extract<Received, { kind: 'event' }>): void {
      assert(!isOverflowed, 'an event after overflow, without a gap')
      const seq = history.seqOf(event.id)
      assert.deepEqual(event, history.at(seq))
      assert(at === null || seq > at, `event ${seq} comes again, after ${at}`)
      requireNone(seq)
      at = seq
      count.events += 1
    },
    place({ id }: Extract<Received, { kind: 'place' }>): void {
      if (id === BEFORE_ALL) return
      const seq = history.seqOf(id)
      assert(at === null || seq >= at, `the place ${seq} is before ${at}`)
      requireNone(seq + 1)
      at = seq
    },
    /** A gap: the event at the place of the program is deleted, and all before the oldest. */
    gap(oldest: number): void {
      assert(oldest > (at ?? 0), `a gap up to ${oldest}, but ${at} is stored`)
      isOverflowed = false
      at = oldest - 1
    },
    overflow(oldest: number): void {
      assert(oldest > (at ?? 0) + 1, `an overflow up to ${oldest}, but ${at} was the last`)
      isOverflowed = true
    },
  }

  return {
    check(received: readonly Received[]): void {
      for (const one of received)
        if (one.kind === 'event') take.event(one)
        else if (one.kind === 'place') take.place(one)
        else {
          const oldest = history.seqOf(one.oldest)
          assert(oldest <= history.oldest(), `${one.kind} before ${oldest}: the events are stored`)
          take[one.kind](oldest)
          count[one.kind] += 1
        }
    },
    at: () => at,
    count,
  }
}
