/** Ids of any kind, and their short forms, which name items as whole ids do. */

const WHOLE_ID = /^[a-z]{3}_[0-9a-z]{26}$/

/** Returns whether a text has the form of a whole id. Its prefix and characters are not checked. */
export const isWholeId = (text: string): boolean => WHOLE_ID.test(text)

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
