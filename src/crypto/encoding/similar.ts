/** Finds the word or name that a user probably meant, so that an error can suggest it. */

/**
 * Returns the number of edits from `a` to `b`.
 *
 * An edit removes, adds or changes one letter, or exchanges two adjacent letters.
 */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (same ? 0 : 1))
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (exchanged) cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
    }
    before = above
    above = row
  }
  return above[b.length]!
}

/** The maximum number of edits to a similar name: a third of the name's length, but at most 2. */
const farFrom = (name: string) => Math.min(2, Math.floor(name.length / 3))

/** Whether a name contains all words of another name in the same order. */
function hasWords(name: string, others: readonly string[]): boolean {
  let at = 0
  for (const word of name.split(/[_ ]/)) if (word === others[at]) at += 1
  return at === others.length
}

/**
 * Returns the known name that was probably meant; null if there is none.
 *
 * That is the name with the fewest edits. If no name is near enough, it is the first name that
 * contains all words of the given one.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  const far = farFrom(name)
  const [nearest] = known
    .filter((one) => Math.abs(one.length - name.length) <= far)
    .map((one) => ({ one, edits: editDistance(name, one) }))
    .filter(({ edits }) => edits <= far)
    .toSorted((a, b) => a.edits - b.edits)
  const words = name.split(/[_ ]/)
  return nearest?.one ?? known.find((one) => hasWords(one, words)) ?? null
}

/** Returns a question about similar words, with a space before it; empty if there are no words. */
export const didYouMean = (similar: readonly string[] = [], question = 'Did you mean'): string =>
  similar.length === 0 ? '' : ` ${question} ${similar.join(', or ')}?`
