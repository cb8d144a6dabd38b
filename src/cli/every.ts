/** All items of a paged list, for commands that show them all. */

interface Page<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

/** Follow a list to its end. */
export async function every<T>(
  list: (query: { limit: number; cursor?: string }) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Page<T> = await list({ limit: 200, ...(cursor === undefined ? {} : { cursor }) })
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items
}
