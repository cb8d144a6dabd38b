/**
 * The used parts of the SDK. The bundle keeps them in a file of its own, loaded when a client
 * first uses the protocol.
 */
export {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  createMcpHandler,
} from '@modelcontextprotocol/server'
export { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
