/** The rows of a list whose ids are in the order of time, newest first. */
import { type SelectQueryBuilder, sql } from 'kysely'
import { readCursor, rowsFor } from '../../api/cursor.ts'
import type { Page } from '../../api/fields.ts'
import { isId } from '../../crypto/encoding/id.ts'

/**
 * Those of `query` behind the page's cursor, newest first: one more than the page shows, as `pageOf` takes them.
 * @param prefix of the ids, which are in `column`
 * @throws AppError `bad_request` for a cursor that is not one of such ids
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
