/**
 * A cache of positive results. Use it only for a result that depends on the name alone. Negative
 * results are computed each time, so that an attacker cannot fill the cache without a valid
 * signature.
 */

/**
 * Returns a function that returns whether a name is good: from the cache, or by `isGood`.
 * @param most the number of cached names; the oldest is dropped first
 */
export function memo(most: number): (name: string, isGood: () => boolean) => boolean {
  const good = new Set<string>()
  return (name, isGood) => {
    if (good.has(name)) return true
    if (!isGood()) return false
    if (good.size === most) good.delete(good.values().next().value!)
    good.add(name)
    return true
  }
}
