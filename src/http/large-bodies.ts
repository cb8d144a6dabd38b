/**
 * Orders large bodies: those of one token are parsed one after the other, and other requests are
 * served in between.
 */

/** From this size on, in bytes, parsing blocks the event loop for some time. */
export const LARGE_BYTES = 256 * 1024

/**
 * Creates the queues of one listener.
 * @returns a function that resolves when the next body of a token may be parsed, in a turn of the
 * event loop of its own
 */
export function newLargeBodies(): (token: string) => Promise<void> {
  const last = new Map<string, Promise<void>>()
  return (token) => {
    const before = last.get(token) ?? Promise.resolve()
    const turn = before.then(() => new Promise<void>((resolve) => setImmediate(resolve)))
    last.set(token, turn)
    void turn.then(() => {
      if (last.get(token) === turn) last.delete(token)
    })
    return turn
  }
}
