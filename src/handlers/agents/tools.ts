import { rest } from '../../api/rest/index.ts'
import type { Content } from '../../api/route.ts'
import { restNeed } from '../../auth/scopes.ts'
import { newCaller } from '../../api/tools/call.ts'
import { listedTools } from '../../api/tools/list.ts'
import type { AgentHandlers } from '../context.ts'

const call = newCaller(rest)
/** The same for every caller. A frozen value is written as JSON once. */
const listed = Object.freeze({ tools: listedTools(rest, restNeed) })

export const toolCalls: AgentHandlers['toolCalls'] = {
  list: async () => listed,

  /** Returns JSON unless the answer is an image or a text; `{}` for a row without a reply. */
  create: async ({ name, body }, { ask }) => {
    const { value = {}, media } = await call(ask, name, body)
    return media ? (value as Content) : { type: 'application/json', body: JSON.stringify(value) }
  },
}
