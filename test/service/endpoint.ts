/** A real server on loopback that speaks the interface of OpenAI as far as a test wants it to. */
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

/** What it does with one request. */
export type Speaker = (res: ServerResponse, asked: Asked) => unknown

export interface Endpoint {
  /** The base that clients take. */
  readonly url: string
  /** What came in, oldest first. */
  readonly asked: Asked[]
  /** What it does from now on. */
  speak: Speaker
  readonly close: () => void
}

/** An event of an answer, with this text. */
export const delta = (content: string) =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
export const LAST = 'data: [DONE]\n\n'

export const begins = (res: ServerResponse): ServerResponse =>
  res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })

/** Says these texts, an event each, and is done. */
export const says =
  (...texts: readonly string[]): Speaker =>
  (res) => {
    begins(res)
    for (const one of texts) res.write(delta(one))
    res.end(LAST)
  }

/** The messages of a question, as [role, content]. */
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
