import { rest } from '../api/rest/index.ts'
import type { Content } from '../api/route.ts'
import { restNeed } from '../auth/scopes.ts'
import type { Ask } from '../tools/call.ts'
import { ProtocolErrorCode, type Server, createMcpHandler } from '../tools/sdk.ts'
import { type Report, newServers } from '../tools/server.ts'
import type { AgentHandlers } from './agents.ts'

/** What the protocol reads of a request, beside its body. */
const FIELDS = [
  'accept',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
]

/** The first version that has no batches; versions are dates. */
const WITHOUT_BATCHES = '2025-06-18'

/** Whoever speaks an earlier version may send a few at once. */
const LARGEST_BATCH = 10

/** No message needs as many members, or as deep ones; whoever judges it pays for each. */
const MOST_MEMBERS = 5000
const DEEPEST = 64

const refused = (message: string): Content => ({
  type: 'application/json',
  status: 400,
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code: ProtocolErrorCode.InvalidRequest, message },
  }),
})

/** How many values are in one, itself included: more than may be where it is too deep. */
function countIn(value: unknown, levels = DEEPEST): number {
  if (typeof value !== 'object' || value === null) return 1
  if (levels === 0) return Infinity
  let count = 1
  for (const inner of Object.values(value)) {
    count += countIn(inner, levels - 1)
    if (count > MOST_MEMBERS) return Infinity
  }
  return count
}

/** What is refused before the protocol looks at it; null for nothing, and for what is no JSON, which it says in its own words. */
function refusalOf(body: string, version: string): Content | null {
  let message: unknown
  try {
    message = JSON.parse(body)
  } catch {
    return null
  }
  if (countIn(message) > MOST_MEMBERS)
    return refused(`A message has at most ${MOST_MEMBERS} values, ${DEEPEST} levels deep.`)
  if (!Array.isArray(message)) return null
  const isKnown = /^\d{4}-\d\d-\d\d$/.test(version)
  return (isKnown && version >= WITHOUT_BATCHES) || message.length > LARGEST_BATCH
    ? refused(
        `There are no batches since version ${WITHOUT_BATCHES}, and none of more than ${LARGEST_BATCH} before: send each message by itself.`,
      )
    : null
}

/**
 * The protocol over HTTP, each request answered by a server of its own.
 * @param serverFor makes that server; its caller was judged before
 */
export function overHttp(
  serverFor: (ask: Ask, report: Report) => Server,
): AgentHandlers['mcp']['post'] {
  return async ({ body }, context) => {
    const { askAnew: ask, home } = context
    const version = context.header('mcp-protocol-version') ?? ''
    const refusal = refusalOf(body, version)
    if (refusal !== null) return refusal
    const report: Report = (tool, error) =>
      home.log('error', 'tool failed', { tool, error: error.code, cause: error.cause ?? error })
    let failure: Error | undefined
    const handler = createMcpHandler(() => serverFor(ask, report), {
      onerror: (error) => {
        failure = error
      },
    })
    const fields = FIELDS.flatMap((name): [string, string][] => {
      const value = context.header(name)
      return value === undefined ? [] : [[name, value]]
    })
    // The protocol reads no more of a URL than that it is one.
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers: fields, body })
    const response = await handler.fetch(request)
    // What the protocol refuses it quotes, and a log must not: only what failed here is told.
    if (response.status >= 500) home.log('error', 'protocol failed', { cause: failure })
    const type = response.headers.get('content-type') ?? 'application/json'
    return { type, status: response.status, body: response.body ?? '' }
  }
}

export const mcp: AgentHandlers['mcp'] = { post: overHttp(newServers(rest, restNeed)) }
