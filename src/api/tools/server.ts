/**
 * Serves the tools over the Model Context Protocol.
 *
 * A new server object is created for each request or connection.
 */
import type { Table } from '../route.ts'
import { redact } from '../../crypto/encoding/redact.ts'
import type { Folded } from '../openapi/json-schema.ts'
import { type AppError, statusOf, toAppError } from '../../errors.ts'
import { VERSION } from '../../runtime/version.ts'
import { type Ask, newCaller } from './call.ts'
import { listedTools } from './list.ts'
import { toolError, resultOf } from './result.ts'
import { ProtocolError, ProtocolErrorCode, Server } from './sdk.ts'
import { toolsOf } from './tool.ts'

const INSTRUCTIONS = `Countersign holds a person's account on this machine: three spoken words that prove who is on the line, and stamps, content that was signed here.
To check a person on the line, ask for their three words and call verify_words; never reveal the words that you expect. "verified" means that a known person said them: compare who matched with who they claim to be. Report "not verified" only where "conclusive" is true, and only of somebody who is in connections_list or guest_codes_list. Before money or access changes hands, draw a challenge with verify_challenge: the words that answer it are for this listener and one purpose alone.
Ids come from the list tools. An error says in its message what to do; where it names a route or command, the tool for it has a like name, as context_active_org for POST /api/v1/context/active-org.`

/** Called with each internal failure, to log its cause. The client does not get the cause. */
export type ReportCall = (tool: string, error: AppError) => void

/**
 * Returns a function that creates MCP servers. They call rows through `ask`.
 * @param need returns the need of a request with this method and path, from the scope table
 */
export function newServers(table: Table, need: Folded['need']) {
  const names = new Set(toolsOf(table).map(({ name }) => name))
  const call = newCaller(table)
  const tools = listedTools(table, need)
  return (ask: Ask, report: ReportCall) => {
    const server = new Server(
      { name: 'countersign', title: 'Countersign', version: VERSION },
      { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
    )
    server.setRequestHandler('tools/list', async () => ({ tools }))
    server.setRequestHandler('tools/call', async ({ params }) => {
      const { name } = params
      if (!names.has(name))
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `There is no tool ${JSON.stringify(redact(name.slice(0, 400)).slice(0, 100))}. List the tools first.`,
        )
      try {
        return await resultOf(await call(ask, name, params.arguments ?? {}))
      } catch (cause) {
        const error = toAppError(cause)
        if (statusOf(error.code) >= 500) report(name, error)
        if (error.code !== 'internal') return toolError(error)
        throw new ProtocolError(ProtocolErrorCode.InternalError, error.message)
      }
    })
    return server
  }
}
