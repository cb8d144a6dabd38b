/**
 * What was found good and costs nothing to find good again. Only for what is a function of the name
 * alone; what was bad is looked at each time, so that nobody fills a memo without a valid signature.
 */

/**
 * Remembers at most `most` names, the oldest forgotten first. Out: a function that answers whether
 * something is good, by `isGood` unless its name was good before.
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
