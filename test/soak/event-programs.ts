/**
 * Programs that read the events of a daemon. Each outlives the daemon, and continues with the next
 * one after the last event that it has.
 */
import assert, { AssertionError } from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type IncomingMessage, get } from 'node:http'
import { text } from 'node:stream/consumers'
import { firstIdAt } from '../../src/crypto/encoding/id.ts'
import type { ShownEvent } from '../../src/state/events.ts'
import type { Chance } from './chance.ts'

/** The place before the first event. */
export const BEFORE_ALL = firstIdAt('evt_', 0)

/** A hasty program disconnects after this time at most, in milliseconds. */
const LONGEST_MS = 600

/** What a program receives, in its order: an event, its next place, or that events are missing. */
export type Received =
  | { readonly kind: 'event'; readonly event: ShownEvent }
  | { readonly kind: 'place'; readonly id: string }
  | { readonly kind: 'gap' | 'overflow'; readonly oldest: string }

/** How a program requests events: a stream, with its place in one of two ways, or pages. */
type Means = 'header' | 'since' | 'wait'

export interface Habits {
  /** One of them for each request. */
  readonly means: readonly Means[]
  readonly types?: string
  /** The place before the first request; if it has none, it begins with the next event. */
  readonly since?: string
  /** Whether it disconnects at any moment, and is away for the rest of some daemons’ time. */
  readonly isHasty?: boolean
  /** Whether it stops reading its socket after each chunk. */
  readonly isSlow?: boolean
}

/** The time of one daemon. */
export interface Run {
  readonly address: string
  readonly token: string
  /** Aborted when the daemon is about to be killed. Requests may fail from then on. */
  readonly over: AbortSignal
  /** Resolves when a slow program reads on. */
  readonly pause: () => Promise<unknown>
}

/** Returns the fields of a block of a stream. */
function fieldsOf(block: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
    fields[name] = value
  }
  return fields
}

/** Creates a program that has received nothing yet. */
export function newProgram({ means, types, since, isHasty, isSlow }: Habits, dice: Chance) {
  let place = since
  let received: Received[] = []
  const arrivals = new EventEmitter()

  function take(shown: ShownEvent): void {
    if (shown.type === 'gap' || shown.type === 'overflow')
      received.push({ kind: shown.type, oldest: String(shown.data['oldest']) })
    else received.push({ kind: 'event', event: shown })
  }

  function moveTo(id: string): void {
    place = id
    received.push({ kind: 'place', id })
    arrivals.emit('arrival')
  }

  function takeBlock(block: string): void {
    const { id, event, data } = fieldsOf(block)
    if (data !== undefined) {
      const shown = JSON.parse(data) as ShownEvent
      assert.deepEqual([event, id], [shown.type, shown.id])
      take(shown)
    }
    // Afterwards, so that an event comes again if the program has not handled it.
    if (id !== undefined) moveTo(id)
  }

  async function takeStream(response: IncomingMessage, { pause }: Run): Promise<void> {
    let rest = ''
    for await (const chunk of response.setEncoding('utf8')) {
      const blocks = (rest + (chunk as string)).split('\n\n')
      rest = blocks.pop() as string
      for (const block of blocks) takeBlock(block)
      if (isSlow) await pause()
    }
  }

  async function takePage(response: IncomingMessage): Promise<void> {
    const page = JSON.parse(await text(response)) as { items: ShownEvent[]; since: string }
    for (const shown of page.items) take(shown)
    moveTo(page.since)
  }

  function open(by: Means, { address, token }: Run, left: AbortSignal) {
    const url = new URL('/api/v1/events', address)
    if (types !== undefined) url.searchParams.set('types', types)
    if (by === 'wait') url.searchParams.set('wait', '60')
    const headers: Record<string, string> = { Authorization: `Bearer ${token}` }
    // The first place may be a time, which the header does not accept.
    if (place !== undefined)
      if (by === 'header' && place.startsWith('evt_')) headers['Last-Event-ID'] = place
      else url.searchParams.set('since', place)
    const request = get(url, { headers, agent: false, signal: left })
    request.on('error', () => undefined)
    return request
  }

  /** Sends one request, and reads its answer to the end or until the program disconnects. */
  async function connect(run: Run): Promise<void> {
    const by = dice.of(means)
    const left = isHasty
      ? AbortSignal.timeout(dice.below(LONGEST_MS))
      : new AbortController().signal
    try {
      const [response] = (await once(open(by, run, left), 'response')) as [IncomingMessage]
      if (run.over.aborted && response.statusCode === 503) return void response.destroy()
      assert.equal(response.statusCode, 200)
      await (by === 'wait' ? takePage(response) : takeStream(response, run))
    } catch (error) {
      const mayFail = run.over.aborted || left.aborted
      if (!mayFail || error instanceof AssertionError) throw error
      return
    }
    const isOver = by === 'wait' || received.at(-1)?.kind === 'overflow'
    assert(isOver || run.over.aborted, 'the stream ended')
  }

  return {
    /** Reads from one daemon until it is killed, or until the program stays away. */
    async read(run: Run): Promise<void> {
      while (!run.over.aborted && !(isHasty && dice.below(10) === 0)) await connect(run)
    },
    /** Waits until the place of the program is none of these. */
    async isPast(places: ReadonlySet<string>): Promise<void> {
      while (place === undefined || places.has(place)) await once(arrivals, 'arrival')
    },
    /** Returns what it received since the last call. */
    taken(): readonly Received[] {
      const all = received
      received = []
      return all
    },
  }
}
