/**
 * One open stream of hints (WHATWG HTML section 9.2). It keeps only which parts changed since the
 * reader last took something, so a slow reader costs no memory and misses nothing.
 */
import { HINT_EVENT } from '../../api/device/hints.ts'
import { SYNC_PARTS, type SyncPart } from '../../api/device/changes.ts'

const encoder = new TextEncoder()
const event = (name: string, data: object) =>
  encoder.encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)

const OPEN = event(HINT_EVENT.open, {})
const BEAT = encoder.encode(':\n\n')
const DONE = { done: true, value: undefined } as const

export interface HintStream {
  readonly account: string
  readonly session: string
  /** The bytes, for one reader. */
  readonly body: AsyncIterable<Uint8Array>
  /** Reports changed parts to the reader. */
  readonly changed: (parts: readonly SyncPart[]) => void
  /** Sends a comment, so that both sides detect a broken connection. */
  readonly beat: () => void
  /** Ends the stream. Hints that the reader has not taken are dropped. */
  readonly end: () => void
}

/**
 * Creates a stream, which begins with the event `open`.
 * @param onEnd called once when the stream ends, or the reader leaves
 */
export function newHintStream(
  { account, session }: Pick<HintStream, 'account' | 'session'>,
  onEnd: (stream: HintStream) => void,
): HintStream {
  const due = new Set<SyncPart>()
  let next: Uint8Array | null = OPEN
  let isOver = false
  let wake: () => void = () => undefined

  /** Returns what the reader gets next; null if there is nothing yet. */
  function take(): Uint8Array | null {
    const bytes = next ?? hint()
    next = null
    return bytes
  }

  function hint(): Uint8Array | null {
    if (due.size === 0) return null
    const parts = SYNC_PARTS.filter((part) => due.delete(part))
    return event(HINT_EVENT.changed, { parts })
  }

  function end(): void {
    if (isOver) return
    isOver = true
    wake()
    onEnd(stream)
  }

  const stream: HintStream = {
    account,
    session,
    changed(parts) {
      for (const part of parts) due.add(part)
      wake()
    },
    beat() {
      next ??= BEAT
      wake()
    },
    end,
    body: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          for (;;) {
            if (isOver) return DONE
            const value = take()
            if (value !== null) return { done: false, value }
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        },
        async return() {
          end()
          return DONE
        },
      }),
    },
  }
  return stream
}
