/**
 * One open stream of hints (WHATWG HTML section 9.2). It keeps only which parts changed since the
 * reader last took something, so a slow reader costs no memory and misses nothing.
 */
import { SYNC_PARTS, type SyncPart } from '../../api/device/changes.ts'
import { HINT_EVENT } from '../../api/device/hints.ts'
import { eventText } from '../../api/event-stream.ts'
import { newPulledStream } from '../../api/pulled-stream.ts'

const encoder = new TextEncoder()
const event = (name: string, data: object) => encoder.encode(eventText(name, data))

const OPEN = event(HINT_EVENT.open, {})

export interface HintStream {
  readonly account: string
  readonly session: string
  /** The bytes, for one reader. */
  readonly body: AsyncIterable<Uint8Array>
  /** Reports changed parts to the reader. */
  readonly changed: (parts: readonly SyncPart[]) => void
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
  let isOpen = false

  /** Returns what the reader gets next; null if there is nothing yet. */
  function take(): Uint8Array | null {
    if (!isOpen) {
      isOpen = true
      return OPEN
    }
    if (due.size === 0) return null
    const parts = SYNC_PARTS.filter((part) => due.delete(part))
    return event(HINT_EVENT.changed, { parts })
  }

  const { body, wake, end } = newPulledStream(take, () => onEnd(stream))
  const stream: HintStream = {
    account,
    session,
    body,
    changed(parts) {
      for (const part of parts) due.add(part)
      wake()
    },
    end,
  }
  return stream
}
