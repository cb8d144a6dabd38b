import type { Handlers } from './context.ts'
import { pageIn } from './page.ts'

export const token: Handlers['token'] = {
  create: async ({ body }, { local }) => local.tokens.mint(body),
}

export const apiTokens: Handlers['apiTokens'] = {
  list: async (page, { local }) => pageIn(local.tokens.list(), page, 'tok_'),
  // Only `full` comes here, so no token can be wider than its minter.
  create: async ({ body }, { local }) => local.tokens.mint(body),
  delete: async ({ id }, { local }) => local.tokens.revoke(id),
}
