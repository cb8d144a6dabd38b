/**
 * Runs any MCP server on a listener like the daemon’s API: the same handler, guard and paths.
 * Every token is valid.
 */
import { agents } from '../../src/api/agents/index.ts'
import { REST_RULES, scopeTable } from '../../src/auth/scopes.ts'
import { newDispatch } from '../../src/http/dispatch.ts'
import { overHttp } from '../../src/handlers/agents/mcp.ts'
import { newLog } from '../../src/log.ts'
import { hostsOf, urlOf } from '../../src/http/address.ts'
import { listen } from '../../src/http/server.ts'
import type { Ask } from '../../src/api/tools/call.ts'

export interface Listener {
  readonly address: string
  /** Every line of the log so far, from level debug. */
  readonly log: readonly string[]
  readonly close: () => Promise<void>
}

/**
 * Starts a listener.
 * @param serverFor creates the server of each request
 * @param ask answers the rows
 */
export async function listening(
  serverFor: Parameters<typeof overHttp>[0],
  ask: Ask = () => Promise.reject(new Error('No row is asked.')),
): Promise<Listener> {
  const lines: string[] = []
  const log = newLog('debug', (line) => lines.push(line))
  const dispatch = newDispatch(
    { mcp: agents.mcp },
    { mcp: { post: overHttp(serverFor) } },
    {
      need: scopeTable(REST_RULES),
      authenticate: () => ({ scope: 'read' as const }),
      context: (_caller, { header }) => ({ askAnew: ask, home: { log }, header }),
    },
  )
  const listener = await listen({
    name: 'api',
    bind: '127.0.0.1',
    port: 0,
    dispatch,
    log,
    rules: (bound) => ({
      hosts: hostsOf('127.0.0.1', bound),
      navigable: /^(?!)/,
      tokenPaths: ['/'],
      pagePath: null,
      peerAllowed: () => true,
    }),
  })
  return {
    address: urlOf('127.0.0.1', listener.port),
    log: lines,
    close: () => listener.close(0),
  }
}
