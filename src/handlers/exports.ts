import type { Handlers } from './context.ts'

export const exports: Handlers['exports'] = {
  /** A link for an API token of this daemon ends with that token. */
  download: async ({ id }, { account, caller, byMachine, home }) => {
    const token = caller?.token ?? null
    if (byMachine || token === null) return account.exports.download({ id })
    return home.tokenLinks.get(account, { id, token, expiry: home.tokens.expiryOf(token) })
  },
}
