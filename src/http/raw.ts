/**
 * Sends responses without a response object: to bytes that are not a request, and to CONNECT. The
 * connection cannot be trusted further and is closed.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, statusOf } from '../errors.ts'
import { commonHeaders, newRequestId } from './reply.ts'

/** The maximum size of the headers of a request, in bytes. */
export const HEADERS_BYTES = 16 * 1024

/**
 * Rejects bytes that Node's parser rejected.
 * @param last the response to the last request of the connection, if there was one
 */
export function refuseRaw(
  error: NodeJS.ErrnoException,
  socket: Socket,
  last?: ServerResponse,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  // One response per request: these bytes belong to one that already has its response …
  if (last?.headersSent && !last.req.complete) {
    socket.destroySoon()
    return
  }
  // … or come after one that is still being answered. Its response is then the last.
  if (last?.req.complete && !last.writableFinished) {
    if (last.headersSent) socket.destroySoon()
    else last.setHeader('Connection', 'close')
    return
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new AppError('headers_too_large', `The headers are larger than ${HEADERS_BYTES} bytes.`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new AppError('request_timeout', 'The request did not arrive in time: send it again.')
        : new AppError('bad_request', 'This is not well-formed HTTP/1.1.')
  endRaw(socket, refusal)
}

/** Sends an error and closes the connection. */
export function endRaw(socket: Socket, error: AppError): void {
  // Node has released the socket of a CONNECT: without a listener, a reset by the client would
  // end the process.
  socket.on('error', () => socket.destroy())
  const body = JSON.stringify(error)
  const head = [...commonHeaders(newRequestId()), 'Content-Type', 'application/json']
  for (const [name, value] of Object.entries(error.headers)) head.push(name, value)
  const lines = head.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${head[i + 1]}`] : []))
  socket.end(
    `HTTP/1.1 ${statusOf(error.code)} ${error.code}\r\n${lines.join('\r\n')}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
  // Nothing else would cut a client that never closes its end.
  socket.destroySoon()
}
