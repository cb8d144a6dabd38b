/**
 * A cache of positive results.
 *
 * Use it only for a result that depends on nothing but the name. Negative results are computed each
 * time, so that an attacker needs a valid signature to fill the cache.
 */

/**
 * Returns a function that checks a name with `isGood` unless the name is in the cache.
 * @param most the maximum number of cached names; the oldest name is removed first
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
