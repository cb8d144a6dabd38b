/**
 * Serves the tools over the Model Context Protocol.
 *
 * A new server object is created for each request or connection.
 */
import * as v from 'valibot'
import type { Table } from '../route.ts'
import { redact } from '../../crypto/encoding/redact.ts'
import type { Folded } from '../openapi/json-schema.ts'
import { type AppError, statusOf, toAppError } from '../../errors.ts'
import { VERSION } from '../../runtime/version.ts'
import { type Ask, newCaller } from './call.ts'
import { listedTools } from './list.ts'
import { listedResources, resourceAt } from './resources.ts'
import { toolError, resultOf } from './result.ts'
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, Server } from './sdk.ts'
import { toolsOf } from './tool.ts'

const INSTRUCTIONS = `Countersign holds a person's account on this machine: three spoken words that prove who is on the line, and stamps, content that was signed here.
To check a person on the line, ask for their three words and call verify_words; never reveal the words that you expect. "verified" means that a known person said them: compare who matched with who they claim to be. Report "not verified" only where "conclusive" is true, and only of somebody who is in connections_list or guest_codes_list. Before money or access changes hands, draw a challenge with verify_challenge: the words that answer it are for this listener and one purpose alone.
Wherever a tool takes an id, it also takes the whole name, as the user says it. If a name can mean several, nothing is done, and the error lists them with their ids: let the user choose. Ids come from the list tools. An error says in its message what to do; where it names a route or command, the tool for it has a like name, as context_active_org for POST /api/v1/context/active-org.`

/** Called with each internal failure, to log its cause. The client does not get the cause. */
export type ReportCall = (tool: string, error: AppError) => void

const shortened = (name: string) => redact(name.slice(0, 400)).slice(0, 100)

/**
 * The parameters of requests about one resource. Without this schema, the library would report
 * invalid parameters as an internal error.
 */
export const AT_RESOURCE = { params: v.object({ uri: v.string() }) }

/**
 * Returns the resource with an address.
 * @throws ResourceNotFoundError
 */
export function knownResource(uri: string) {
  const found = resourceAt(uri)
  if (found !== undefined) return found
  const shown = shortened(uri)
  throw new ResourceNotFoundError(
    shown,
    `There is no resource ${JSON.stringify(shown)}. List the resources first.`,
  )
}

/**
 * Returns a function that creates MCP servers. They call rows through `ask`, and let clients
 * subscribe to resources if `canSubscribe` is true.
 * @param need returns the need of a request with this method and path, from the scope table
 */
export function newServers(table: Table, need: Folded['need']) {
  const names = new Set(toolsOf(table).map(({ name }) => name))
  const call = newCaller(table)
  const tools = listedTools(table, need)
  return (ask: Ask, report: ReportCall, canSubscribe: boolean) => {
    /** Calls a tool; reports an internal failure. */
    const called = async (name: string, given: Readonly<Record<string, unknown>>) => {
      try {
        return await resultOf(await call(ask, name, given))
      } catch (cause) {
        const error = toAppError(cause)
        if (statusOf(error.code) >= 500) report(name, error)
        if (error.code !== 'internal') return toolError(error)
        throw new ProtocolError(ProtocolErrorCode.InternalError, error.message)
      }
    }
    const server = new Server(
      { name: 'countersign', title: 'Countersign', version: VERSION },
      {
        capabilities: { tools: {}, resources: canSubscribe ? { subscribe: true } : {} },
        instructions: INSTRUCTIONS,
      },
    )
    server.setRequestHandler('tools/list', async () => ({ tools }))
    server.setRequestHandler('tools/call', async ({ params }) => {
      const { name } = params
      if (!names.has(name))
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `There is no tool ${JSON.stringify(shortened(name))}. List the tools first.`,
        )
      return called(name, params.arguments ?? {})
    })
    server.setRequestHandler('resources/list', async () => ({ resources: listedResources }))
    server.setRequestHandler('resources/templates/list', async () => ({ resourceTemplates: [] }))
    server.setRequestHandler('resources/read', AT_RESOURCE, async ({ uri }) => {
      const { tool, args } = knownResource(uri)
      const { isError, structuredContent } = await called(tool, args?.() ?? {})
      if (isError)
        throw new ProtocolError(
          ProtocolErrorCode.InvalidRequest,
          String(structuredContent?.['message']),
          structuredContent,
        )
      const text = JSON.stringify(structuredContent)
      return { contents: [{ uri, mimeType: 'application/json', text }] }
    })
    return server
  }
}
