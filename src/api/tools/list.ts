/** Generates the list of tools, from which a model chooses. */
import type { ListedTool } from '../agents/index.ts'
import type { Table } from '../route.ts'
import { converter } from '../openapi/document.ts'
import { type Folded } from '../openapi/json-schema.ts'
import { restTextOf } from '../rest/texts/index.ts'
import type { ToolText } from '../rest/texts/text.ts'
import { inputOf } from './input.ts'
import { type Tool, toolsOf } from './tool.ts'

/** Returns a tool's own texts. The type of the texts ensures that they exist. */
const ownTextOf = ({ group, row }: Tool) => restTextOf(group, row).tool as ToolText

/** The sentence about the scope that a tool needs. Any token may call the others. */
const SCOPES: Readonly<Record<string, string>> = {
  write: ' Needs scope `write`.',
  full: ' Needs scope `full`.',
}

/** Returns a tool's texts for a model: what the tool does, and which token may call it. */
export function textOf(tool: Tool, need: Folded['need']): { title: string; description: string } {
  const { title, description } = ownTextOf(tool)
  const { route } = tool
  const needed = need(route.method, route.path.slice(1).split('/'))
  return { title, description: `${description}${SCOPES[needed] ?? ''}` }
}

/** Returns whether existing data is lost by a tool, or the tool cannot be undone. */
export const isDestructive = (tool: Tool): boolean =>
  ownTextOf(tool).traits?.includes('takes') ?? false

/**
 * Returns a tool's hints for programs: whether to ask the user first, and whether to repeat a call.
 *
 * A tool that only reads changes nothing, may be repeated, and has no effect that others can see.
 */
function hintsOf(tool: Tool): ListedTool['annotations'] {
  const { traits = [] } = ownTextOf(tool)
  return {
    readOnlyHint: tool.route.method === 'GET',
    destructiveHint: isDestructive(tool),
    idempotentHint: !traits.includes('again'),
    openWorldHint: traits.includes('outside'),
  }
}

/** Returns a tool as it is listed. */
export const listedTool = (tool: Tool, need: Folded['need']): ListedTool => ({
  name: tool.name,
  ...textOf(tool, need),
  inputSchema: inputOf(tool, converter({})) as ListedTool['inputSchema'],
  annotations: hintsOf(tool),
})

/** Returns all tools of a table, in the table's order. */
export const listedTools = (table: Table, need: Folded['need']): ListedTool[] =>
  toolsOf(table).map((tool) => listedTool(tool, need))
