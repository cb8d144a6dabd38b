/**
 * The stream of events: what changes at the daemon reaches the page without a reload. While the
 * daemon does not answer, the page shows since when.
 */
import { signal, type ReadonlySignal } from '@preact/signals'
import { daemonNow, sendWithProof, sessionState } from '../session/session.ts'

/** An event, with the members that the page uses. */
export interface LiveEvent {
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Matches every type: after a gap, and after the daemon answers again. */
const EVERYTHING: LiveEvent = { id: '', type: '*', data: {} }

/** The shortest and the longest time between two attempts, in milliseconds. */
const RETRY_MS = { least: 500, most: 5_000 }

const awayNow = signal<number | null>(null)

/** Since when the daemon does not answer, Unix milliseconds by its clock; null while it does. */
export const awaySince: ReadonlySignal<number | null> = awayNow

interface Subscription {
  readonly types: readonly string[]
  readonly listener: (event: LiveEvent) => void
}

const subscriptions = new Set<Subscription>()

let open: () => void = () => undefined

/**
 * Resolves when the first stream is open, or could not be opened. An event before that is missed,
 * so data is read afterwards. The first request also gets the nonce for the others.
 */
export const firstStreamOpen: Promise<void> = new Promise((resolve) => {
  open = resolve
})

/** Returns whether an event has one of these types. */
const isOfType = ({ type }: LiveEvent, types: readonly string[]): boolean =>
  type === '*' ||
  types.some((one) => (one.endsWith('*') ? type.startsWith(one.slice(0, -1)) : type === one))

/**
 * Calls `listener` for events of these types. Returns a function that ends this.
 * @param types `connection.*` is every type of connections
 */
export function onLiveEvent(
  types: readonly string[],
  listener: (event: LiveEvent) => void,
): () => void {
  const subscription = { types, listener }
  subscriptions.add(subscription)
  return () => void subscriptions.delete(subscription)
}

function announce(event: LiveEvent): void {
  for (const { types, listener } of subscriptions) if (isOfType(event, types)) listener(event)
}

/**
 * Splits a stream into events.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
async function* eventsIn(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = ''
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const data = block
        .split('\n')
        .flatMap((line) => (line.startsWith('data:') ? [line.slice('data:'.length).trim()] : []))
      if (data.length > 0) yield data.join('\n')
    }
  }
}

/** The id of the last event, after which the next stream begins. */
let last = ''

async function readStream(): Promise<void> {
  const url = `/api/v1/events${last === '' ? '' : `?since=${last}`}`
  const headers = { Accept: 'text/event-stream' }
  const answer = await sendWithProof(new Request(url, { headers }))
  if (!answer.ok || answer.body === null) throw new TypeError('There is no stream.')
  const wasAway = awayNow.value !== null
  awayNow.value = null
  open()
  if (wasAway) announce(EVERYTHING)
  for await (const text of eventsIn(answer.body)) {
    const event = JSON.parse(text) as LiveEvent
    if (event.type === 'gap' || event.type === 'overflow') announce(EVERYTHING)
    else {
      last = event.id
      announce(event)
    }
  }
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Follows the events while the session is open. */
export async function followLiveEvents(): Promise<void> {
  let pause = RETRY_MS.least
  while (sessionState.value === 'open') {
    try {
      await readStream()
      pause = RETRY_MS.least
    } catch {
      awayNow.value ??= daemonNow()
      open()
    }
    if (sessionState.value !== 'open') return
    await wait(pause)
    pause = Math.min(pause * 2, RETRY_MS.most)
  }
}
