/**
 * The parts of the MCP SDK that the daemon uses.
 *
 * The bundle puts them into a separate file, which is loaded when a client first uses the protocol.
 */
export {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerEventBus,
  type StandardSchemaV1,
  createMcpHandler,
} from '@modelcontextprotocol/server'
export { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
