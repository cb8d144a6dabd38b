/** Computes the answer to one read from a stored answer that contains more. */
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'

export type ReadInput = Readonly<Record<string, unknown>>
type Item = Readonly<Record<string, unknown>>
type Matches = (item: Item, value: unknown) => boolean

/** How each filter of a list selects items. */
const FILTERS: Readonly<Record<string, Matches>> = {
  state: (item, value) => item['state'] === value,
  favorite: (item, value) => item['favorite'] === value,
  tag_id: (item, value) => (item['tag_ids'] as readonly unknown[]).includes(value),
  unread: (item, value) => item['read'] === (value !== true),
}

/** Returns the id by which cursors refer to an item; a trust card has that of the person. */
const idOf = ({ id, user_id }: Item): unknown => id ?? user_id

function idIn(cursor: string): string | null {
  try {
    return new TextDecoder().decode(decodeBase64url(cursor))
  } catch {
    return null
  }
}

/** Returns a page of all items; null if the cursor, or the next one, names none of them. */
function pageFrom(items: readonly Item[], { limit, cursor }: ReadInput) {
  const after = typeof cursor === 'string' ? idIn(cursor) : undefined
  const start = after === undefined ? 0 : items.findIndex((item) => idOf(item) === after) + 1
  if (after !== undefined && start === 0) return null
  const end = start + Number(limit ?? items.length)
  const shown = items.slice(start, end)
  if (end >= items.length) return { items: shown, next_cursor: null }
  const last = idOf(shown.at(-1) ?? {})
  if (typeof last !== 'string') return null
  return { items: shown, next_cursor: encodeBase64url(new TextEncoder().encode(last)) }
}

/**
 * Returns the answer to a read from the stored answer to a read without limit and cursor.
 * @param filters the filters of the read that the stored answer is not filtered by
 * @returns null if it cannot be computed
 */
export function fromWhole(whole: Item, filters: ReadInput, page: ReadInput): Item | null {
  const chosen = Object.entries(filters)
  if (chosen.some(([name]) => FILTERS[name] === undefined)) return null
  const fits = (item: Item) => chosen.every(([name, value]) => FILTERS[name]?.(item, value))
  const filtered = Object.fromEntries(
    Object.entries(whole).map(([name, value]) => [
      name,
      Array.isArray(value) ? (value as Item[]).filter(fits) : value,
    ]),
  )
  return 'items' in filtered ? pageFrom(filtered['items'] as Item[], page) : filtered
}
