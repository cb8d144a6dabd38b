/**
 * Pages of a list, newest first.
 *
 * Ids begin with their time, so the list is sorted by id, and a cursor is the last id of the page.
 * Rows that are added or removed between two requests therefore neither repeat nor hide other rows.
 */
import { decodeBase64url, encodeBase64url } from '../crypto/encoding/base64url.ts'
import { AppError } from '../errors.ts'
import type { Page } from './fields.ts'

const text = { encoder: new TextEncoder(), decoder: new TextDecoder() }

/**
 * Returns the id in a cursor; null if there is no cursor (first page).
 * @throws AppError `bad_request` unless `isOne` accepts the id
 */
export function readCursor(
  cursor: string | undefined,
  isOne: (id: string) => boolean,
): string | null {
  if (cursor === undefined) return null
  const id = decoded(cursor)
  if (id === null || !isOne(id))
    throw new AppError(
      'bad_request',
      'This cursor does not belong to this list. Send the next_cursor of the previous page, or no cursor.',
    )
  return id
}

function decoded(cursor: string): string | null {
  try {
    return text.decoder.decode(decodeBase64url(cursor))
  } catch {
    return null
  }
}

/**
 * Returns the number of rows to read for a page: one more than its limit, to detect a next page.
 */
export const rowsFor = ({ limit }: Page): number => limit + 1

/**
 * Returns the page made of the first `items`, in their order.
 *
 * The caller must pass all items, or at least `rowsFor(page)` of them.
 */
export function pageOf<Item extends { id: string }>(items: readonly Item[], { limit }: Page) {
  const shown = items.slice(0, limit)
  const last = shown.at(-1)
  return {
    items: shown,
    next_cursor:
      last !== undefined && items.length > limit
        ? encodeBase64url(text.encoder.encode(last.id))
        : null,
  }
}

/** The maximum number of items in one page of a list route. */
const MOST = 200

/** A limit that no valid list reaches. */
const MOST_PAGES = 10_000

/**
 * Returns all items of a list, by reading all its pages.
 * @throws AppError `backend_error` if the list does not end
 */
export async function every<T>(
  list: (query: { limit: number; cursor?: string }) => Promise<{
    readonly items: readonly T[]
    readonly next_cursor: string | null
  }>,
): Promise<T[]> {
  const items: T[] = []
  let query: { limit: number; cursor?: string } = { limit: MOST }
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const { items: more, next_cursor: cursor } = await list(query)
    items.push(...more)
    if (cursor === null) return items
    if (cursor === query.cursor) break
    query = { limit: MOST, cursor }
  }
  throw new AppError('backend_error', 'The account server sent a list without an end.')
}
