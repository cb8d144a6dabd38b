/** Notices of changed resources: which events cause them, and how often they are sent. */
import { newEventReader } from '../event-stream.ts'
import { events } from '../live/events.ts'
import type { Content } from '../route.ts'
import type { Ask } from './call.ts'
import { changedBy } from './resources.ts'

/** The shortest time between two notices of one resource, in milliseconds. */
const PAUSE_MS = 1000

export interface Notices {
  /** Sends notices of these resources: at once, or after the pause. */
  readonly add: (uris: readonly string[]) => void
  /** Sends no more. */
  readonly end: () => void
}

/**
 * Sends notices. A storm of changes causes one for each resource in a second.
 * @param send sends a notice; resolves when the client accepts another one
 */
export function newNotices(send: (uri: string) => Promise<void>): Notices {
  const changed = new Set<string>()
  let isSending = false
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  const pause = () =>
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PAUSE_MS)
    })

  async function run(): Promise<void> {
    isSending = true
    try {
      while (changed.size > 0 && !isOver) {
        const uris = [...changed]
        changed.clear()
        for (const uri of uris) await send(uri)
        await pause()
      }
    } catch {
      // The client has left.
      isOver = true
    }
    isSending = false
  }

  return {
    add(uris) {
      for (const uri of uris) changed.add(uri)
      if (!isSending && !isOver) void run()
    },
    end() {
      isOver = true
      clearTimeout(timer)
    },
  }
}

/** What a part of the stream of events means for a client. */
interface Changes {
  /** The resources that changed. */
  readonly uris: readonly string[]
  /** The last event of the part, with which a later reader continues; null if it has none. */
  readonly last: string | null
}

export interface ChangeStream {
  /** What changed, for one reader. */
  readonly changes: AsyncIterable<Changes>
  /** Ends the stream. */
  readonly close: () => void
}

/**
 * Begins to read the events of a caller. The row of the events decides whether the caller may read
 * them, and when the stream ends.
 * @param since where to begin; with the next event by default
 * @throws AppError as the row does
 */
export async function openChanges(ask: Ask, since?: string): Promise<ChangeStream> {
  const { follow } = events
  const { value } = await ask({
    route: follow,
    method: follow.method,
    segments: follow.path.slice(1).split('/'),
    query: since === undefined ? '' : new URLSearchParams({ since }).toString(),
    body: undefined,
  })
  const chunks = ((value as Content).body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()

  async function* changes(): AsyncGenerator<Changes> {
    const read = newEventReader()
    for (;;) {
      const { done = false, value: chunk } = await chunks.next()
      if (done) return
      const found = read(chunk as Uint8Array)
      const uris = new Set(found.flatMap(({ name }) => changedBy(name)))
      const { id = null } = JSON.parse(found.at(-1)?.data ?? '{}') as { id?: string }
      if (uris.size > 0) yield { uris: [...uris], last: id }
    }
  }

  return { changes: changes(), close: () => void chunks.return?.() }
}
