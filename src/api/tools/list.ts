/** The list of the tools, from which a model chooses one. */
import type { ListedTool } from '../agents/index.ts'
import type { Table } from '../route.ts'
import { NEEDS, converter } from '../openapi/document.ts'
import { type Folded } from '../openapi/json-schema.ts'
import { TEXTS } from './descriptions.ts'
import { hintsOf } from './hints.ts'
import { inputOf } from './input.ts'
import { type Tool, type ToolName, toolsOf } from './tool.ts'

/** Returns the texts of a tool for a model: what it does, and which token may call it. */
export function textOf(
  { name, route }: Tool,
  need: Folded['need'],
): { title: string; description: string } {
  const { title, description } = TEXTS[name as ToolName]
  const needed = need(route.method, route.path.slice(1).split('/'))
  return { title, description: `${description} ${NEEDS[needed]}` }
}

/** Returns all tools of a table, in its order. */
export const listedTools = (table: Table, need: Folded['need']): ListedTool[] =>
  toolsOf(table).map((tool) => ({
    name: tool.name,
    ...textOf(tool, need),
    inputSchema: inputOf(tool, converter({})) as ListedTool['inputSchema'],
    annotations: hintsOf(tool),
  }))
