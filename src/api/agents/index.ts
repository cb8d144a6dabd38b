/**
 * *agents*: offers the routes of *rest* as tools, which programs choose by name and description.
 *
 * A tool call is handled like a request to its route, including the scope check and the validation.
 * For older clients, each row also has a second, shorter path.
 */
import * as v from 'valibot'
import { CODES } from '../../errors.ts'
import { named } from '../fields.ts'
import { stamp } from '../rest/stamp.ts'
import type { Table } from '../route.ts'
import type { ToolName } from '../tools/tool.ts'

/** The only tool that accepts content. */
export const CONTENT_TOOL = 'stamp_create' satisfies ToolName
/** The maximum size of a call with content, in bytes. Larger content is stamped by its `sha256`. */
const LARGEST = 4 * 1024 * 1024
/** The maximum size of a call of any other tool, in bytes. */
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

/** A choice of sets of tools. The list of the sets is loaded when a client chooses. */
const Choice = v.strictObject({
  tools: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(500),
      v.description('List only the tools of these sets, separated by commas (default: all).'),
    ),
  ),
})

export const agents = {
  mcp: {
    /** Speak the Model Context Protocol (Streamable HTTP). */
    post: {
      method: 'POST',
      path: '/api/v1/mcp',
      also: '/mcp',
      by: 'daemon',
      // The errors of the events, for a client that subscribes to resources.
      errors: ['no_device', 'rate_limited'],
      query: Choice,
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
      query: Choice,
      reply: v.object({ tools: v.array(ListedTool) }),
    },
    /** Call a tool. */
    create: {
      method: 'POST',
      path: '/api/v1/tools/{name}',
      also: '/tools/{name}',
      by: 'daemon',
      // The errors of the row that the tool calls.
      errors: CODES,
      // Arguments belong in the body. Without this schema, arguments in the query would be ignored
      // silently.
      query: v.strictObject({}),
      body: v.optional(v.looseObject({}), {}),
      limit: LARGEST,
      // Checks the scope of the called route before the body is read. Otherwise a token that may
      // not stamp content could upload megabytes of it.
      calls: ({ name }) => (name === CONTENT_TOOL ? stamp.create : null),
      limitOf: ({ name }) => (name === CONTENT_TOOL ? LARGEST : LARGEST_CALL),
      media: ['application/json'],
    },
  },
} as const satisfies Table
export type Agents = typeof agents
