import { rest } from '../../api/rest/index.ts'
import type { Content } from '../../api/route.ts'
import { restNeed } from '../../auth/scopes.ts'
import { newCaller } from '../../api/tools/call.ts'
import { listedTools } from '../../api/tools/list.ts'
import type { AgentHandlers } from '../context.ts'

const call = newCaller(rest)
/** The list is the same for every caller. A frozen value is converted to JSON only once. */
const listed = Object.freeze({ tools: listedTools(rest, restNeed) })

export const toolCalls: AgentHandlers['toolCalls'] = {
  list: async () => listed,

  /**
   * Calls a tool. Returns JSON unless the result is an image or a text; `{}` if the route returns
   * nothing.
   */
  create: async ({ name, body }, { ask }) => {
    const { value = {}, media } = await call(ask, name, body)
    return media ? (value as Content) : { type: 'application/json', body: JSON.stringify(value) }
  },
}
