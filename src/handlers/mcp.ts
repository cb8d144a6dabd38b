import { rest } from '../api/rest/index.ts'
import type { Ask } from '../tools/call.ts'
import { createMcpHandler } from '../tools/sdk.ts'
import { newServers } from '../tools/server.ts'
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

const serverFor = newServers(rest)
/** The token was judged before anything came here: of the caller the server knows only how to ask. */
const handler = createMcpHandler(({ authInfo }) => serverFor(authInfo?.extra?.['ask'] as Ask))

export const mcp: AgentHandlers['mcp'] = {
  post: async ({ body }, context) => {
    const fields = FIELDS.flatMap((name): [string, string][] => {
      const value = context.header(name)
      return value === undefined ? [] : [[name, value]]
    })
    // The protocol reads no more of a URL than that it is one.
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers: fields, body })
    const authInfo = { token: '', clientId: '', scopes: [], extra: { ask: context.ask } }
    const response = await handler.fetch(request, { authInfo })
    const { 'content-type': type = 'application/json', ...rest } = Object.fromEntries(
      response.headers,
    )
    return { type, status: response.status, body: response.body ?? '', headers: rest }
  },
}
