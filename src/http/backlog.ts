/** Spreads work over turns of the event loop, so that new connections are served in between. */

export interface Backlog<Item> {
  /** Handles an item in a later turn, in order. */
  readonly push: (item: Item) => void
  /** Handles an item now, if this turn has handled fewer than `most` and no item waits. */
  readonly offer: (item: Item) => void
}

/**
 * Creates a queue.
 * @param most how many items are handled in one turn
 */
export function newBacklog<Item>(most: number, handle: (item: Item) => void): Backlog<Item> {
  /** A `Set` removes its first item in constant time. */
  const items = new Set<Item>()
  let left = most
  let isScheduled = false

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(run)
  }
  function run(): void {
    isScheduled = false
    left = most
    for (const item of items) {
      if (left === 0) break
      left--
      items.delete(item)
      handle(item)
    }
    if (left < most) schedule()
  }
  return {
    push(item) {
      items.add(item)
      schedule()
    },
    offer(item) {
      schedule()
      if (left === 0 || items.size > 0) {
        items.add(item)
        return
      }
      left--
      handle(item)
    },
  }
}
