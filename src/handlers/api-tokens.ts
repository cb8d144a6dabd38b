/**
 * API tokens, and pages of lists that this device stores. Lists are newest first by id, like the
 * account server's.
 */
import { pageOf, readCursor } from '../api/cursor.ts'
import type { Page } from '../api/fields.ts'
import { isId } from '../crypto/encoding/id.ts'
import { type Handlers, noDevice } from './context.ts'

/** Returns the requested page of `items`, which must be newest first and have ids with `prefix`. */
export function pageIn<T extends { id: string }>(items: readonly T[], page: Page, prefix: string) {
  const before = readCursor(page.cursor, (id) => isId(prefix, id))
  return pageOf(before === null ? items : items.filter(({ id }) => id < before), page)
}

export const token: Handlers['token'] = {
  create: async ({ body }, { home, byMachine }) => {
    if (byMachine) throw noDevice()
    return home.tokens.mint(body)
  },
}

/**
 * Handlers for API tokens. A machine account's caller manages that account's tokens at the account
 * server and cannot see the daemon's tokens.
 */
export const apiTokens: Handlers['apiTokens'] = {
  list: async (page, { home, account, byMachine }) =>
    byMachine ? account.machineTokens.list(page) : pageIn(home.tokens.list(), page, 'tok_'),
  // Only scope `full` may call this, so no token can have more rights than its creator.
  create: async (input, { home, account, byMachine }) =>
    byMachine ? account.machineTokens.create(input) : home.tokens.mint(input.body),
  delete: async (input, { home, account, byMachine }) => {
    if (byMachine) return account.machineTokens.delete(input)
    home.tokens.revoke(input.id)
    await home.tokenLinks.end(account, input.id)
  },
}
