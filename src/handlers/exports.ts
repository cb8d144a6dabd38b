import { type Handlers, keeperOf } from './context.ts'

export const exports: Handlers['exports'] = {
  /**
   * Creates an export. First uploads what only this device has so far: checks of words, and
   * stamps without a receipt.
   */
  create: async (_, context) => {
    const keeper = keeperOf(context)
    if (keeper !== null) await keeper.sync.handOver()
    return context.account.exports.create({})
  },

  /**
   * Returns a link to an export. A link for an API token of this daemon expires with that token.
   */
  download: async ({ id }, { account, caller, byMachine, home }) => {
    const token = caller?.token ?? null
    if (byMachine || token === null) return account.exports.download({ id })
    return home.tokenLinks.get(account, { id, token, expiry: home.tokens.expiryOf(token) })
  },
}
