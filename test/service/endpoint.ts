/** A real server on loopback with the interface of OpenAI, as far as a test needs it. */
import { once } from 'node:events'
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Answers one request. */
export type Speaker = (res: ServerResponse, asked: Asked) => unknown

export interface Endpoint {
  /** The base URL for clients. */
  readonly url: string
  /** The requests received, oldest first. */
  readonly asked: Asked[]
  /** Answers the next requests. */
  speak: Speaker
  readonly close: () => void
}

/** Returns one event of an answer, with this text. */
export const delta = (content: string) =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
export const LAST = 'data: [DONE]\n\n'

export const begins = (res: ServerResponse): ServerResponse =>
  res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })

/** Answers with these texts, one event each, and the last mark. */
export const says =
  (...texts: readonly string[]): Speaker =>
  (res) => {
    begins(res)
    for (const one of texts) res.write(delta(one))
    res.end(LAST)
  }

/** Returns the messages of a question as [role, content]. */
export const messagesOf = ({ body }: Asked): [string, string][] =>
  (JSON.parse(body) as { messages: { role: string; content: string }[] }).messages.map(
    ({ role, content }) => [role, content],
  )

export async function startEndpoint(speak: Speaker = says('Hello.')): Promise<Endpoint> {
  const server = createServer((req, res) => {
    void (async () => {
      const { method = '', url: path = '', headers } = req
      const one = { method, path, headers, body: await text(req) }
      asked.push(one)
      await endpoint.speak(res, one)
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked: Asked[] = []
  const endpoint: Endpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    speak,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return endpoint
}
