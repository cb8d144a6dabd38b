/**
 * *agents*: the same routes as tools, for programs that choose by name and description. What is called here is answered as its route
 * in *rest* is, scope table, validation and all. Each row has a flat path for older clients.
 */
import * as v from 'valibot'
import { named } from '../fields.ts'
import { stamp } from '../rest/stamp.ts'
import type { Table } from '../route.ts'

/** The tool that takes content. */
export const CONTENT_TOOL = 'stamp_create'
/** The most bytes that come with content: a larger one is stamped by its `sha256`. */
const LARGEST = 4 * 1024 * 1024
/** The most bytes of every other call. */
export const LARGEST_CALL = 1024 * 1024

export const Tool = named(
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
export type Tool = v.InferOutput<typeof Tool>

export const agents = {
  mcp: {
    post: {
      method: 'POST',
      path: '/api/v1/mcp',
      also: '/mcp',
      summary: 'Speak the Model Context Protocol (Streamable HTTP)',
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
    list: {
      method: 'GET',
      path: '/api/v1/tools',
      also: '/tools',
      summary: 'List the tools',
      by: 'daemon',
      reply: v.object({ tools: v.array(Tool) }),
    },
    create: {
      method: 'POST',
      path: '/api/v1/tools/{name}',
      also: '/tools/{name}',
      summary: 'Call a tool',
      by: 'daemon',
      // Arguments stand in the body: one beside it would go unheard.
      query: v.strictObject({}),
      body: v.optional(v.looseObject({}), {}),
      limit: LARGEST,
      // Nobody sends megabytes of content with a token that may not stamp it.
      calls: ({ name }) => (name === CONTENT_TOOL ? stamp.create : null),
      limitOf: ({ name }) => (name === CONTENT_TOOL ? LARGEST : LARGEST_CALL),
      media: ['application/json'],
    },
  },
} as const satisfies Table
export type Agents = typeof agents
