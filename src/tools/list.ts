/** The tools as they are listed: what a model reads to choose one. */
import type { Tool as Listed } from '../api/agents/index.ts'
import type { Table } from '../api/route.ts'
import { converter } from '../openapi.ts'
import { TEXTS } from './descriptions.ts'
import { hintsOf } from './hints.ts'
import { inputOf } from './input.ts'
import { type ToolName, toolsOf } from './tool.ts'

/** All tools of a table, in its order. */
export const listOf = (table: Table): Listed[] =>
  toolsOf(table).map((tool) => ({
    name: tool.name,
    ...TEXTS[tool.name as ToolName],
    inputSchema: inputOf(tool, converter({})) as Listed['inputSchema'],
    annotations: hintsOf(tool),
  }))
