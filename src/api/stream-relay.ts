/**
 * An event stream from elsewhere, passed on: its bytes as they come and unchanged, bounded in time and length. Where it breaks off, what
 * came has passed, and an event says why nothing follows.
 */
import type { Readable } from 'node:stream'
import type { AppError } from '../errors.ts'
import { errorEvent } from './chat-events.ts'

export interface Bounds {
  /** How long nothing may come while somebody waits for it, in milliseconds. */
  readonly silenceMs: number
  /** How long it may take altogether, in milliseconds. */
  readonly wholeMs: number
  /** How many bytes it may be. */
  readonly most: number
}

/** Why a stream ended before its time. `broken`: the other side cut it. */
export type Break = 'silent' | 'late' | 'large' | 'broken'

export interface Passage {
  /** Resolves when there is something to pass on. Throws AppError, what `told` says, where it breaks off before. */
  readonly begun: () => Promise<void>
  /** For one reader, who may leave at any time: then the source is cut. */
  readonly body: AsyncIterable<Uint8Array>
  /** Nobody wants it any more. */
  readonly cut: () => void
}

/** What is read ahead of a slow reader, in bytes. */
const AHEAD = 65_536
const DONE = { done: true, value: undefined } as const

/**
 * Pass a stream on.
 * @param source nobody else reads it; it is destroyed where it is not read to its end
 * @param of `told`: the error of a break; `heard`: is given the bytes as they come; `whole`: is asked at the end whether they were all, where
 *   that is not the end alone; `ended`: is called once, when no more come, and the
 *   end is told when it is done
 */
export function passage(
  source: Readable,
  of: {
    bounds: Bounds
    told: (why: Break, cause?: Error) => AppError
    heard?: (bytes: Uint8Array) => void
    whole?: () => boolean
    ended?: () => Promise<unknown>
  },
): Passage {
  const { bounds, told, heard, whole: isWhole, ended } = of
  const queue: Uint8Array[] = []
  let ahead = 0
  let bytes = 0
  let failure: AppError | null = null
  /** Set when no more come. */
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
    failure = told(why, cause)
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
    heard?.(chunk)
    ahead += chunk.length
    if (ahead > AHEAD) source.pause()
    wake()
  })
  source.once('end', () => {
    if (isWhole?.() === false) fail('broken')
    else if (finished === null) finish()
  })
  // Stays, because a connection that is cut by this side may complain once more.
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
    const value = errorEvent(failure)
    failure = null
    return { done: false, value }
  }

  return {
    cut,
    async begun() {
      await more()
      if (queue.length > 0) return
      const why = failure ?? told('broken')
      cut()
      throw why
    },
    // Not a generator: that would let its reader leave only when the next bytes have come.
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
