import { type Handlers, keeperOf } from './context.ts'

export const context: Handlers['context'] = {
  /** What was made here until now was made in the organisation that was active. A server that is away does not switch either. */
  activeOrg: async (input, asked) => {
    await keeperOf(asked)?.sync.handOver()
    return asked.account.context.activeOrg(input)
  },
}
