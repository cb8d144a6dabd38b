/** Pages of lists that this device keeps itself; newest first by id, as the account server's are. */
import type { Page } from '../api/fields.ts'
import { decodeBase64url, encodeBase64url } from '../crypto/base64url.ts'
import { isId } from '../crypto/id.ts'
import { AppError } from '../errors.ts'

/** The id after which a page goes on. Throws AppError bad_request for a cursor that no page of such ids gave. */
export function afterId(cursor: string, prefix: string): string {
  const id = decoded(cursor)
  if (id === null || !isId(prefix, id))
    throw new AppError(
      'bad_request',
      'This cursor is not one of this list: send the next_cursor of the page before, or none.',
    )
  return id
}

function decoded(cursor: string): string | null {
  try {
    return new TextDecoder().decode(decodeBase64url(cursor))
  } catch {
    return null
  }
}

/** The page of `items` (newest first, ids of this prefix) that a query asks for. */
export function pageOf<T extends { id: string }>(
  items: readonly T[],
  { limit, cursor }: Page,
  prefix: string,
) {
  const after = cursor === undefined ? null : afterId(cursor, prefix)
  const rest = after === null ? items : items.filter(({ id }) => id < after)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return {
    items: page,
    next_cursor:
      rest.length > limit && last !== undefined
        ? encodeBase64url(new TextEncoder().encode(last.id))
        : null,
  }
}
