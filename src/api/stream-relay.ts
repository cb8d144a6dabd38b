/**
 * Relays the bytes of an event stream unchanged as they arrive, within limits of time and length.
 *
 * If the source breaks off, the bytes received so far are passed on, followed by the error: as an
 * event, or thrown.
 */
import type { Readable } from 'node:stream'
import type { AppError } from '../errors.ts'
import { errorEvent } from './chat-events.ts'

export interface Bounds {
  /** The maximum time without data while the reader waits for data, in milliseconds. */
  readonly silenceMs: number
  /** The maximum total time, in milliseconds. */
  readonly wholeMs: number
  /** The maximum length of the stream, in bytes. */
  readonly most: number
}

/** The reason why a stream ended early. `broken`: the other side closed it. */
export type Break = 'silent' | 'late' | 'large' | 'broken'

export interface Passage {
  /**
   * Resolves when the first bytes can be passed on.
   * @throws AppError of the break if the stream breaks off before that
   */
  readonly begun: () => Promise<void>
  /** The bytes, for one reader. If the reader stops early, the source is closed. */
  readonly body: AsyncIterable<Uint8Array>
  /** Discards the stream and closes its source. */
  readonly cut: () => void
}

/** The maximum number of bytes that are buffered for a slow reader. */
const AHEAD = 65_536
const DONE = { done: true, value: undefined } as const

/**
 * Relays a stream.
 * @param source must have no other reader; destroyed if it is not read to its end
 * @param of `toError`: returns the error for a break; `onChunk`: called with the bytes as they
 * arrive; `throws`: whether the reader gets the error of a break as an exception, which the source
 * cannot imitate, and not as an event; `whole`: called at the end, returns whether the stream was
 * complete if its end alone does not show that; `ended`: called once, after the last bytes, and the
 * reader gets the end when its promise has resolved
 */
export function passage(
  source: Readable,
  of: {
    bounds: Bounds
    toError: (why: Break, cause?: Error) => AppError
    onChunk?: (bytes: Uint8Array) => void
    throws?: boolean
    whole?: () => boolean
    ended?: () => Promise<unknown>
  },
): Passage {
  const { bounds, toError, onChunk, throws = false, whole: isWhole, ended } = of
  const queue: Uint8Array[] = []
  let ahead = 0
  let bytes = 0
  let failure: AppError | null = null
  /** Set after the last bytes were received. */
  let finished: Promise<unknown> | null = null
  let wake = () => undefined as void

  const whole = setTimeout(() => fail('late'), bounds.wholeMs)
  function finish(): void {
    clearTimeout(whole)
    finished = ended?.() ?? Promise.resolve()
    wake()
  }
  function fail(why: Break, cause?: Error): void {
    if (finished !== null) return
    failure = toError(why, cause)
    finish()
    source.destroy()
  }
  function cut(): void {
    queue.length = 0
    failure = null
    if (finished !== null) return
    finish()
    source.destroy()
  }

  source.on('data', (chunk: Uint8Array) => {
    if (finished !== null) return
    bytes += chunk.length
    if (bytes > bounds.most) {
      fail('large')
      return
    }
    queue.push(chunk)
    onChunk?.(chunk)
    ahead += chunk.length
    if (ahead > AHEAD) source.pause()
    wake()
  })
  source.once('end', () => {
    if (isWhole?.() === false) fail('broken')
    else if (finished === null) finish()
  })
  // The listener must stay: if this side closes the connection, the source may emit another error.
  source.on('error', (cause) => fail('broken', cause))
  source.once('close', () => fail('broken'))

  async function more(): Promise<void> {
    if (queue.length > 0 || finished !== null) return
    await new Promise<void>((resolve) => {
      const silence = setTimeout(() => fail('silent'), bounds.silenceMs)
      wake = () => {
        clearTimeout(silence)
        wake = () => undefined
        resolve()
      }
    })
  }

  async function next(): Promise<IteratorResult<Uint8Array, undefined>> {
    await more()
    const chunk = queue.shift()
    if (chunk !== undefined) {
      ahead -= chunk.length
      if (ahead <= AHEAD) source.resume()
      return { done: false, value: chunk }
    }
    await finished
    if (failure === null) return DONE
    const error = failure
    failure = null
    if (throws) throw error
    return { done: false, value: errorEvent(error) }
  }

  return {
    cut,
    async begun() {
      await more()
      if (queue.length > 0) return
      const why = failure ?? toError('broken')
      cut()
      throw why
    },
    // An object instead of a generator: a generator's reader could stop only after more bytes
    // arrived.
    body: {
      [Symbol.asyncIterator]: () => ({
        next,
        async return() {
          cut()
          return DONE
        },
      }),
    },
  }
}
