import { invalid } from '../../api/input.ts'
import { rest } from '../../api/rest/index.ts'
import type { Content } from '../../api/route.ts'
import { restNeed } from '../../auth/scopes.ts'
import { newCaller } from '../../api/tools/call.ts'
import { listedTools } from '../../api/tools/list.ts'
import { ALL_SET, faultOfSets, toolsIn } from '../../api/tools/sets.ts'
import { toolsOf } from '../../api/tools/tool.ts'
import type { AgentHandlers } from '../context.ts'

const call = newCaller(rest)
const tools = toolsOf(rest)
/** The list is the same for every caller. A frozen value is converted to JSON only once. */
const listed = Object.freeze({ tools: listedTools(rest, restNeed) })

/**
 * Returns the sets that a request chooses; all if it chooses none.
 * @throws AppError `validation_failed` for a set that does not exist
 */
export function chosenSets(given: string | undefined): string {
  const fault = given === undefined ? null : faultOfSets(given)
  if (fault !== null) throw invalid('query', [{ path: 'tools', message: fault }])
  return given ?? ALL_SET
}

export const toolCalls: AgentHandlers['toolCalls'] = {
  async list({ tools: choice }) {
    const sets = chosenSets(choice)
    if (sets === ALL_SET) return listed
    const names = new Set(toolsIn(tools, sets).map(({ name }) => name))
    return { tools: listed.tools.filter(({ name }) => names.has(name)) }
  },

  /**
   * Calls a tool. Returns JSON unless the result is an image or a text; `{}` if the route returns
   * nothing.
   */
  create: async ({ name, body }, { ask }) => {
    const { value = {}, media } = await call(ask, name, body)
    return media ? (value as Content) : { type: 'application/json', body: JSON.stringify(value) }
  },
}
