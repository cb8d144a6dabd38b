import { rest } from '../api/rest/index.ts'
import type { Content } from '../api/route.ts'
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

const noBatches = (): Content => ({
  type: 'application/json',
  status: 400,
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: {
      code: ProtocolErrorCode.InvalidRequest,
      message: `There are no batches since version ${WITHOUT_BATCHES}: send each message by itself.`,
    },
  }),
})

/**
 * The protocol over HTTP, each request answered by a server of its own.
 * @param serverFor makes that server; its caller was judged before
 */
export function overHttp(
  serverFor: (ask: Ask, report: Report) => Server,
): AgentHandlers['mcp']['post'] {
  return async ({ body }, context) => {
    const { ask, home } = context
    const version = context.header('mcp-protocol-version') ?? ''
    if (version >= WITHOUT_BATCHES && /^\s*\[/.test(body)) return noBatches()
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

export const mcp: AgentHandlers['mcp'] = { post: overHttp(newServers(rest)) }
