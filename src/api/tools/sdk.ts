/** What of the SDK is used. The bundle keeps it in a file of its own, loaded when somebody speaks the protocol. */
export {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  createMcpHandler,
} from '@modelcontextprotocol/server'
export { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
