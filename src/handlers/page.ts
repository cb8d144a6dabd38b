/**
 * Pages of lists that this device stores itself; newest first by id, like those of the account
 * server.
 */
import { pageOf, readCursor } from '../api/cursor.ts'
import type { Page } from '../api/fields.ts'
import { isId } from '../crypto/encoding/id.ts'

/** Returns the page of `items` (newest first, with ids of this prefix) that a query requests. */
export function pageIn<T extends { id: string }>(items: readonly T[], page: Page, prefix: string) {
  const before = readCursor(page.cursor, (id) => isId(prefix, id))
  return pageOf(before === null ? items : items.filter(({ id }) => id < before), page)
}
