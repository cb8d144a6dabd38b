/**
 * The programs that currently read events: as a stream (WHATWG HTML section 9.2), or with one
 * request that waits for events.
 *
 * A reader has only a place in the stored events, and takes further ones when it is ready. So a
 * slow reader costs no memory. If events that it has not read are deleted meanwhile, the stream
 * ends with the event `overflow`.
 */
import { eventText } from '../api/event-stream.ts'
import { newPulledStream } from '../api/pulled-stream.ts'
import { STREAM_EVENT } from '../api/live/catalogue.ts'
import { timeAt } from '../api/fields.ts'
import { firstIdAt } from '../crypto/encoding/id.ts'
import { AppError } from '../errors.ts'
import { type EventRow, type EventRows, type ShownEvent, shownEvent } from '../state/events.ts'

/** The greatest number of readers, of all callers and of each. */
const [MOST, MOST_OF_ONE] = [512, 128]
/** How many events are read at once. */
const BATCH = 200
/** How long further events are gathered before the readers get them, in milliseconds. */
const GATHER_MS = 10
/** How often it is checked whether readers still have access, in milliseconds. */
const CHECK_MS = 500

/** A place in the events. */
export interface Place {
  /** The sequence number of the last event that was read. */
  readonly seq: number
  /** Whether events between the reader's own place and this one were deleted. */
  readonly isGap: boolean
}

interface Reader {
  /** The id of the caller. The readers of one caller are counted together. */
  readonly owner: string
  /** Returns whether the caller may still read. */
  readonly isAllowed: () => boolean
  /** Returns whether the reader wants events of a type. */
  readonly wants: (type: string) => boolean
  readonly from: Place
}

/** An event, or a gap, which has no id. */
type Shown = Omit<ShownEvent, 'id'> & { readonly id?: string }

export interface EventReaders {
  /**
   * Opens a stream.
   * @throws AppError `rate_limited` if there are too many readers
   */
  stream(reader: Reader): AsyncIterable<Uint8Array>
  /**
   * Returns the next events. Waits until there is one, for at most `ms` milliseconds.
   * @returns `since`: the place after them, as the id of an event
   * @throws AppError `rate_limited` if there are too many readers
   */
  wait(reader: Reader, ms: number): Promise<{ items: Shown[]; since: string }>
}

const encoder = new TextEncoder()

/** The place before the first event, as the id of an event. */
export const BEFORE_ALL = firstIdAt('evt_', 0)

const textOf = (event: Shown): string => eventText(event.type, event, event.id)

const tooMany = () =>
  new AppError('rate_limited', 'Too many programs read events. Close some of them.', {
    headers: { 'Retry-After': '10' },
  })

/**
 * Creates the readers of a daemon.
 * @param stopping ends all readers
 */
export function newEventReaders(
  rows: EventRows,
  { now, stopping }: { now: () => number; stopping: AbortSignal },
): EventReaders {
  /** The readers that exist, with what each does at a check or after new events. */
  const open = new Map<Reader, { readonly wake: () => void; readonly check: () => void }>()
  let leave: () => void = () => undefined

  function wakeAll(): void {
    for (const { wake } of open.values()) wake()
  }

  /** Begins to look for new events and ended tokens, with the first reader. */
  function begin(): void {
    const checking = setInterval(() => {
      for (const { check } of open.values()) check()
    }, CHECK_MS)
    const ignore = rows.onAdded(wakeAll, GATHER_MS)
    leave = () => {
      clearInterval(checking)
      ignore()
    }
  }

  function enter(reader: Reader, calls: { wake: () => void; check: () => void }): void {
    const own = [...open.keys()].filter(({ owner }) => owner === reader.owner)
    if (open.size >= MOST || own.length >= MOST_OF_ONE) throw tooMany()
    if (open.size === 0) begin()
    open.set(reader, calls)
  }

  function exit(reader: Reader): void {
    if (open.delete(reader) && open.size === 0) leave()
  }

  const mayGoOn = (reader: Reader) => !stopping.aborted && reader.isAllowed()

  /** The last events that were read. Most readers are at the same place. */
  let recent = { seq: -1, last: -1, batch: [] as readonly EventRow[] }

  /**
   * Returns the events after a place.
   * @returns `isGap`: whether events are missing before them
   */
  function readAfter(seq: number): { batch: readonly EventRow[]; isGap: boolean } {
    const last = rows.last()
    if (recent.seq !== seq || recent.last !== last)
      recent = { seq, last, batch: last > seq ? rows.after(seq, BATCH) : [] }
    const { batch } = recent
    return { batch, isGap: last > seq && batch[0]?.seq !== seq + 1 }
  }

  const idAt = (seq: number) => rows.idOf(seq) ?? BEFORE_ALL

  const missing = (type: (typeof STREAM_EVENT)[keyof typeof STREAM_EVENT]): Shown => ({
    type,
    timestamp: timeAt(now()),
    data: { oldest: rows.oldest()?.id ?? null },
  })

  function stream(reader: Reader): AsyncIterable<Uint8Array> {
    const { wants, from } = reader
    let { seq } = from
    // A reader that reconnects before its first event needs a place too.
    let next: string | null =
      `retry: 1000\nid: ${idAt(seq)}\n\n${from.isGap ? textOf(missing(STREAM_EVENT.gap)) : ''}`

    /** Returns the events that the reader gets next; null if there is nothing yet. */
    function events(): string | null {
      if (next !== null) {
        const text = next
        next = null
        return text
      }
      const { batch, isGap } = readAfter(seq)
      if (isGap) {
        end()
        return textOf(missing(STREAM_EVENT.overflow))
      }
      const newest = batch.at(-1)
      if (newest === undefined) return null
      seq = newest.seq
      const texts = batch.filter(({ type }) => wants(type)).map((row) => textOf(shownEvent(row)))
      // The place moves past events that the reader does not want.
      return wants(newest.type) ? texts.join('') : `${texts.join('')}id: ${newest.id}\n\n`
    }

    function take(): Uint8Array | null {
      if (!mayGoOn(reader)) {
        end()
        return null
      }
      const text = events()
      return text === null ? null : encoder.encode(text)
    }

    const { body, wake, end } = newPulledStream(take, () => exit(reader))
    enter(reader, {
      wake,
      check() {
        if (!mayGoOn(reader)) end()
      },
    })
    return body
  }

  async function wait(reader: Reader, ms: number): Promise<{ items: Shown[]; since: string }> {
    const { wants, from } = reader
    const items: Shown[] = from.isGap ? [missing(STREAM_EVENT.gap)] : []
    let { seq } = from
    const take = () => {
      for (;;) {
        const { batch, isGap } = readAfter(seq)
        if (isGap) items.push(missing(STREAM_EVENT.gap))
        items.push(...batch.filter(({ type }) => wants(type)).map(shownEvent))
        seq = batch.at(-1)?.seq ?? rows.last()
        if (batch.length < BATCH || items.length > 0) return
      }
    }
    take()
    if (items.length > 0 || ms === 0) return { items, since: idAt(seq) }
    let wake: () => void = () => undefined
    let isOver = false
    const end = () => {
      isOver = true
      wake()
    }
    enter(reader, {
      wake: () => wake(),
      check() {
        if (!mayGoOn(reader)) end()
      },
    })
    const timer = setTimeout(end, ms)
    try {
      while (items.length === 0 && !isOver) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        if (!mayGoOn(reader)) break
        take()
      }
    } finally {
      clearTimeout(timer)
      exit(reader)
    }
    return { items, since: idAt(seq) }
  }

  stopping.addEventListener(
    'abort',
    () => {
      for (const { check } of open.values()) check()
    },
    { once: true },
  )
  return { stream, wait }
}
