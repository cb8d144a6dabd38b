import { type Handlers, keeperOf } from './context.ts'

export const context: Handlers['context'] = {
  /**
   * Uploads pending data first, because it was created in the organisation that was active. If
   * the account server is unreachable, the organisation does not change.
   */
  activeOrg: async (input, asked) => {
    await keeperOf(asked)?.sync.handOver()
    return asked.account.context.activeOrg(input)
  },
}
