import { rest } from '../../api/rest/index.ts'
import type { Content } from '../../api/route.ts'
import { restNeed } from '../../auth/scopes.ts'
import { newCaller } from '../../api/tools/call.ts'
import { listOf } from '../../api/tools/list.ts'
import type { AgentHandlers } from '../context.ts'

const call = newCaller(rest)
/** The same for every caller. What is frozen is written as JSON once. */
const listed = Object.freeze({ tools: listOf(rest, restNeed) })

export const toolCalls: AgentHandlers['toolCalls'] = {
  list: async () => listed,

  /** Always JSON where it is not an image or a text: a row without an answer answers `{}`. */
  create: async ({ name, body }, { ask }) => {
    const { value = {}, media } = await call(ask, name, body)
    return media ? (value as Content) : { type: 'application/json', body: JSON.stringify(value) }
  },
}
