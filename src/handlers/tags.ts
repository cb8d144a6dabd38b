import { decorated } from './connections.ts'
import { type Handlers, keeperOf } from './context.ts'

export const tags: Handlers['tags'] = {
  assign: async (input, context) => {
    const keeper = keeperOf(context)
    const tagged = await context.account.tags.assign(input)
    return decorated(tagged, keeper)
  },
}
