/**
 * A stream of bytes whose reader takes more when it is ready. Nothing waits for a slow reader in
 * memory: what it gets is made when it takes it.
 */

const DONE = { done: true, value: undefined } as const

export interface PulledStream {
  /** The bytes, for one reader. */
  readonly body: AsyncIterable<Uint8Array>
  /** Reports to a waiting reader that there may be something to take. */
  readonly wake: () => void
  /** Ends the stream. A second call does nothing. */
  readonly end: () => void
}

/**
 * Creates a stream.
 * @param take returns what the reader gets next; null if there is nothing yet. It may end the
 *   stream; what it returns is then the last that the reader gets.
 * @param onEnd called once when the stream ends, or the reader leaves
 */
export function newPulledStream(take: () => Uint8Array | null, onEnd: () => void): PulledStream {
  let isOver = false
  let wake: () => void = () => undefined

  function end(): void {
    if (isOver) return
    isOver = true
    wake()
    onEnd()
  }

  return {
    wake: () => wake(),
    end,
    body: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          while (!isOver) {
            const value = take()
            if (value !== null) return { done: false, value }
            if (isOver) break
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
          return DONE
        },
        async return() {
          end()
          return DONE
        },
      }),
    },
  }
}
