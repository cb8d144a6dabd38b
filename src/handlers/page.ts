/** Pages of lists that this device keeps itself; newest first by id, as the account server's are. */
import { pageOf, readCursor } from '../api/cursor.ts'
import type { Page } from '../api/fields.ts'
import { isId } from '../crypto/encoding/id.ts'

/** The page of `items` (newest first, ids of this prefix) that a query asks for. */
export function pageIn<T extends { id: string }>(items: readonly T[], page: Page, prefix: string) {
  const before = readCursor(page.cursor, (id) => isId(prefix, id))
  return pageOf(before === null ? items : items.filter(({ id }) => id < before), page)
}
