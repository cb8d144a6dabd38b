/** The tools as a server of the Model Context Protocol, made anew for each request or connection. */
import type { Table } from '../api/route.ts'
import { AppError } from '../errors.ts'
import { VERSION } from '../version.ts'
import { type Ask, newCaller } from './call.ts'
import { listOf } from './list.ts'
import { refusalOf, resultOf } from './result.ts'
import { ProtocolError, ProtocolErrorCode, Server } from './sdk.ts'
import { toolsOf } from './tool.ts'

const INSTRUCTIONS = `Countersign holds a person's account on this machine: three spoken words that prove who is on the line, and stamps, content that was signed here.
To check somebody on the line, ask for their three words and call verify_check; never tell them what you expect. Report "not verified" only where "conclusive" is true.
Ids come from the list tools. An error says in its message what to do.`

/** Makes servers that call rows by `ask`. */
export function newServers(table: Table) {
  const names = new Set(toolsOf(table).map(({ name }) => name))
  const call = newCaller(table)
  const tools = listOf(table)
  return (ask: Ask) => {
    const server = new Server(
      { name: 'countersign', title: 'Countersign', version: VERSION },
      { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
    )
    server.setRequestHandler('tools/list', async () => ({ tools }))
    server.setRequestHandler('tools/call', async ({ params }) => {
      if (!names.has(params.name))
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `There is no tool ${JSON.stringify(params.name)}: list the tools first.`,
        )
      try {
        return await resultOf(await call(ask, params.name, params.arguments ?? {}))
      } catch (error) {
        if (error instanceof AppError) return refusalOf(error)
        throw error
      }
    })
    return server
  }
}
