/**
 * Pages of lists that this device stores itself; newest first by id, like those of the account
 * server.
 */
import { pageOf, readCursor } from '../api/cursor.ts'
import type { Page } from '../api/fields.ts'
import { isId } from '../crypto/encoding/id.ts'
import { type Handlers, noDevice } from './context.ts'

/** Returns the page of `items` (newest first, with ids of this prefix) that a query requests. */
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
 * The caller of a machine account manages the tokens of its account, at the account server, and
 * never sees those of the daemon.
 */
export const apiTokens: Handlers['apiTokens'] = {
  list: async (page, { home, account, byMachine }) =>
    byMachine ? account.machineTokens.list(page) : pageIn(home.tokens.list(), page, 'tok_'),
  // Only scope `full` may call this, so no token has more rights than its creator.
  create: async (input, { home, account, byMachine }) =>
    byMachine ? account.machineTokens.create(input) : home.tokens.mint(input.body),
  delete: async (input, { home, account, byMachine }) => {
    if (byMachine) return account.machineTokens.delete(input)
    home.tokens.revoke(input.id)
    await home.tokenLinks.end(account, input.id)
  },
}
