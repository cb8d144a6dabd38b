/** Work that is spread over turns of the event loop, so that new connections are served in between. */

/**
 * Keeps a queue.
 * @param most how many items are handled in one turn
 * @returns `push` appends an item; `handle` gets it in a later turn, in order
 */
export function newBacklog<Item>(
  most: number,
  handle: (item: Item) => void,
): { push(item: Item): void } {
  /** A `Set` takes from its front in constant time. */
  const items = new Set<Item>()
  let isScheduled = false
  const schedule = () => {
    isScheduled = true
    setImmediate(run)
  }
  function run(): void {
    let left = Math.min(most, items.size)
    for (const item of items) {
      if (left-- === 0) break
      items.delete(item)
      handle(item)
    }
    isScheduled = false
    if (items.size > 0) schedule()
  }
  return {
    push(item) {
      items.add(item)
      if (!isScheduled) schedule()
    },
  }
}
