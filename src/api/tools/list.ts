/** The list of the tools, from which a model chooses one. */
import type { ListedTool } from '../agents/index.ts'
import type { Table } from '../route.ts'
import { NEEDS, converter } from '../openapi/document.ts'
import { type Folded } from '../openapi/json-schema.ts'
import { restTextOf } from '../rest/texts/index.ts'
import type { ToolText } from '../rest/texts/text.ts'
import { inputOf } from './input.ts'
import { type Tool, toolsOf } from './tool.ts'

/** Returns the own texts of a tool, which the type of the texts requires. */
const ownTextOf = ({ group, row }: Tool) => restTextOf(group, row).tool as ToolText

/** Returns the texts of a tool for a model: what it does, and which token may call it. */
export function textOf(tool: Tool, need: Folded['need']): { title: string; description: string } {
  const { title, description } = ownTextOf(tool)
  const { route } = tool
  const needed = need(route.method, route.path.slice(1).split('/'))
  return { title, description: `${description} ${NEEDS[needed]}` }
}

/**
 * Returns the hints of a tool for programs: whether to ask the user first, and whether a call may
 * be repeated. A tool that only reads changes nothing, may be repeated, and is not visible to
 * others.
 */
function hintsOf(tool: Tool): ListedTool['annotations'] {
  const { traits = [] } = ownTextOf(tool)
  return {
    readOnlyHint: tool.route.method === 'GET',
    destructiveHint: traits.includes('takes'),
    idempotentHint: !traits.includes('again'),
    openWorldHint: traits.includes('outside'),
  }
}

/** Returns all tools of a table, in its order. */
export const listedTools = (table: Table, need: Folded['need']): ListedTool[] =>
  toolsOf(table).map((tool) => ({
    name: tool.name,
    ...textOf(tool, need),
    inputSchema: inputOf(tool, converter({})) as ListedTool['inputSchema'],
    annotations: hintsOf(tool),
  }))
