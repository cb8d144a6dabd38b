/** Pages of lists that are sorted by time through their ids, newest first. */
import { type SelectQueryBuilder, sql } from 'kysely'
import { readCursor, rowsFor } from '../../api/cursor.ts'
import type { Page } from '../../api/fields.ts'
import { isId } from '../../crypto/encoding/id.ts'

/**
 * Returns the rows of `query` after the page's cursor, newest first. There is one more than the
 * page shows, as `pageOf` expects.
 * @param prefix of the ids, which are in `column`
 * @throws AppError `bad_request` for a cursor that is not such an id
 */
export function pageRows<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  page: Page,
  prefix: string,
  column = 'id',
) {
  const before = readCursor(page.cursor, (id) => isId(prefix, id))
  const id = sql.ref<string>(column)
  const behind = before === null ? query : query.where(id, '<', before)
  return behind.orderBy(id, 'desc').limit(rowsFor(page)).execute()
}
