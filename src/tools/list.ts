/** The tools as they are listed: what a model reads to choose one. */
import type { Tool as Listed } from '../api/agents/index.ts'
import type { Table } from '../api/route.ts'
import { converter } from '../openapi.ts'
import { inputOf } from './input.ts'
import { toolsOf } from './tool.ts'

/** All tools of a table, in its order. */
export const listOf = (table: Table): Listed[] =>
  toolsOf(table).map((tool) => ({
    name: tool.name,
    title: tool.route.summary,
    description: tool.route.summary,
    inputSchema: inputOf(tool, converter({})) as Listed['inputSchema'],
    annotations: {
      readOnlyHint: tool.route.method === 'GET',
      destructiveHint: tool.route.method === 'DELETE',
      idempotentHint: tool.route.method !== 'POST',
      openWorldHint: false,
    },
  }))
