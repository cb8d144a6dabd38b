/**
 * The number of small maps in an `IdMap`, a map by id for very many ids. A single `Map` is copied
 * as a whole whenever it doubles, and all requests wait: 10 ms at 65,536 entries.
 */
const PARTS = 64

export interface IdMap<V> {
  get(id: string): V | undefined
  set(id: string, value: V): void
  /**
   * Deletes an entry.
   * @returns whether it was there
   */
  delete(id: string): boolean
  size(): number
}

/**
 * Creates an empty map. Ids must differ in their last characters, as those of this program do.
 */
export function newIdMap<V>(): IdMap<V> {
  const parts = Array.from({ length: PARTS }, () => new Map<string, V>())
  let size = 0

  const partOf = (id: string) =>
    parts[(id.charCodeAt(id.length - 1) + 7 * id.charCodeAt(id.length - 2)) % PARTS]!

  return {
    get: (id) => partOf(id).get(id),
    size: () => size,

    set(id, value) {
      const part = partOf(id)
      size -= part.size
      part.set(id, value)
      size += part.size
    },

    delete(id) {
      const isGone = partOf(id).delete(id)
      if (isGone) size--
      return isGone
    },
  }
}
