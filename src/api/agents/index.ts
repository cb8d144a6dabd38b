/**
 * *agents*: the routes of *rest* as tools, for programs that choose by name and description. A
 * call of a tool is answered like its route, including the scope table and validation. Each row
 * has a flat path for older clients.
 */
import * as v from 'valibot'
import { CODES } from '../../errors.ts'
import { named } from '../fields.ts'
import { stamp } from '../rest/stamp.ts'
import type { Table } from '../route.ts'
import type { ToolName } from '../tools/tool.ts'

/** The tool that accepts content. */
export const CONTENT_TOOL = 'stamp_create' satisfies ToolName
/** The largest call with content, in bytes: larger content is stamped by its `sha256`. */
const LARGEST = 4 * 1024 * 1024
/** The largest call of every other tool, in bytes. */
export const LARGEST_CALL = 1024 * 1024

export const ListedTool = named(
  'Tool',
  v.object({
    name: v.string(),
    title: v.string(),
    description: v.string(),
    inputSchema: v.looseObject({ type: v.literal('object') }),
    annotations: v.object({
      readOnlyHint: v.boolean(),
      destructiveHint: v.boolean(),
      idempotentHint: v.boolean(),
      openWorldHint: v.boolean(),
    }),
  }),
)
export type ListedTool = v.InferOutput<typeof ListedTool>

export const agents = {
  mcp: {
    /** Speak the Model Context Protocol (Streamable HTTP). */
    post: {
      method: 'POST',
      path: '/api/v1/mcp',
      also: '/mcp',
      by: 'daemon',
      query: v.strictObject({}),
      body: v.string(),
      text: true,
      limit: LARGEST,
      limitOf: (_, may) => (may(stamp.create) ? LARGEST : LARGEST_CALL),
      media: ['application/json', 'text/event-stream'],
    },
  },
  toolCalls: {
    /** List the tools. */
    list: {
      method: 'GET',
      path: '/api/v1/tools',
      also: '/tools',
      by: 'daemon',
      reply: v.object({ tools: v.array(ListedTool) }),
    },
    /** Call a tool. */
    create: {
      method: 'POST',
      path: '/api/v1/tools/{name}',
      also: '/tools/{name}',
      by: 'daemon',
      // Those of the row that the tool calls.
      errors: CODES,
      // Arguments belong in the body: one in the query would be ignored.
      query: v.strictObject({}),
      body: v.optional(v.looseObject({}), {}),
      limit: LARGEST,
      // Without this, a token that may not stamp content could send megabytes of it.
      calls: ({ name }) => (name === CONTENT_TOOL ? stamp.create : null),
      limitOf: ({ name }) => (name === CONTENT_TOOL ? LARGEST : LARGEST_CALL),
      media: ['application/json'],
    },
  },
} as const satisfies Table
export type Agents = typeof agents
