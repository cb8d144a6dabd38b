/** Short forms of ids, which name items as whole ids do. */

/**
 * Returns the shortest beginning of an id that none of the other ids has.
 * @param least how many characters after the prefix it must have
 */
export function beginningOf(id: string, ids: readonly string[], least: number): string {
  let length = id.indexOf('_') + 1 + least
  while (
    length < id.length &&
    ids.some((other) => other !== id && other.startsWith(id.slice(0, length)))
  )
    length++
  return id.slice(0, length)
}
