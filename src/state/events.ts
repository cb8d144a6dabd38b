/**
 * The events of this daemon, for programs. Each is stored in the transaction of the change that it
 * reports, so there is never one without the other.
 *
 * The sequence numbers have no gaps, and none is used twice, also not after a sign-out. So a reader
 * detects from the numbers that events were deleted.
 */
import type { DatabaseSync } from 'node:sqlite'
import { timeAt } from '../api/fields.ts'
import type { EventData, EventType } from '../api/live/catalogue.ts'
import { newId } from '../crypto/encoding/id.ts'
import { statement } from '../storage/sqlite.ts'

/** Which events are kept. */
const LIMITS = {
  /** How many, and for how long in milliseconds. */
  most: 10_000,
  longestMs: 7 * 24 * 3_600_000,
  /** Old events are deleted whenever this many have been added. */
  pruneEvery: 100,
}

export interface EventRow {
  readonly seq: number
  readonly id: string
  readonly type: EventType
  /** Unix milliseconds. */
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
}

/** An event, as programs and receivers get it. */
export interface ShownEvent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

export const shownEvent = ({ id, type, at, data }: EventRow): ShownEvent => ({
  id,
  type,
  timestamp: timeAt(at),
  data,
})

export type EventRows = ReturnType<typeof eventRows>

/** Appends events, in the transaction of the change that they report. */
export type Append = EventRows['append']

/** Returns the statements for the events. `now` returns Unix milliseconds. */
export function eventRows(
  db: DatabaseSync,
  now: () => number = Date.now,
  { most, longestMs, pruneEvery } = LIMITS,
) {
  type Stored = Omit<EventRow, 'data'> & { readonly data: string }
  const insert = statement<{ seq: number }>(
    db,
    'insert into events (id, type, at, data) values (?, ?, ?, ?) returning seq',
  )
  const after = statement<Stored>(
    db,
    'select seq, id, type, at, data from events where seq > ? order by seq limit ?',
  )
  const seqOf = statement<{ seq: number }>(db, 'select seq from events where id = ?')
  const idOf = statement<{ id: string }>(db, 'select id from events where seq = ?')
  const firstSince = statement<{ seq: number }>(
    db,
    'select min(seq) as seq from events where at >= ? having count(*) > 0',
  )
  const oldest = statement<{ seq: number; id: string; at: number }>(
    db,
    'select seq, id, at from events order by seq limit 1',
  )
  const last = statement<{ seq: number }>(
    db,
    `select seq from sqlite_sequence where name = 'events'`,
  )
  // The newest event stays, so that a reader that has it can always continue.
  const prune = statement(
    db,
    'delete from events where (seq <= ?1 or at < ?2) and seq < (select max(seq) from events)',
  )
  /** Each plans the call of a listener, unless it is planned already. */
  const plans = new Set<() => void>()

  function append<Type extends EventType>(type: Type, data: EventData<Type>): string {
    const at = now()
    const id = newId('evt_', at)
    const { seq } = insert.get(id, type, at, JSON.stringify(data))!
    if (seq % pruneEvery === 0) prune.run(seq - most, at - longestMs)
    for (const plan of plans) plan()
    return id
  }

  return {
    /**
     * Adds an event, and returns its id. Must be called in the transaction of the change that it
     * reports.
     */
    append,
    /** Returns the events after a sequence number, oldest first. */
    after: (seq: number, limit: number): EventRow[] =>
      after
        .all(seq, limit)
        .map((row) => ({ ...row, data: JSON.parse(row.data) as object })) as EventRow[],
    /** Returns the sequence number of an event; null if it is not stored. */
    seqOf: (id: string): number | null => seqOf.get(id)?.seq ?? null,
    /** Returns the id of the event with a sequence number; null if it is not stored. */
    idOf: (seq: number): string | null => idOf.get(seq)?.id ?? null,
    /** Returns the sequence number of the first event at or after a time; null if there is none. */
    firstSince: (at: number): number | null => firstSince.get(at)?.seq ?? null,
    /** Returns the oldest stored event; null if there is none. */
    oldest: () => oldest.get(),
    /** Returns the highest sequence number that was ever used, 0 if none. */
    last: (): number => last.get()?.seq ?? 0,
    /**
     * Calls a function after events were added, once for all that are added within a time.
     * Transactions are synchronous, so that of the events has ended by then.
     * @param ms how long events are gathered, in milliseconds
     * @returns a function that ends this
     */
    onAdded(listener: () => void, ms = 0): () => void {
      let timer: NodeJS.Timeout | null = null
      const plan = () => {
        timer ??= setTimeout(() => {
          timer = null
          listener()
        }, ms)
      }
      plans.add(plan)
      return () => {
        plans.delete(plan)
        if (timer !== null) clearTimeout(timer)
      }
    },
  }
}
