/** The protocol without a client: requests that no client would send. */
import { type Answer, ask } from '../daemon.ts'

const META = 'io.modelcontextprotocol/'

/** The sender’s data in a request of the newest version. */
const ENVELOPE = {
  [`${META}protocolVersion`]: '2026-07-28',
  [`${META}clientInfo`]: { name: 'test', version: '0' },
  [`${META}clientCapabilities`]: {},
}

export interface Message {
  readonly [name: string]: unknown
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Returns a message of one of the two eras, with its header fields. */
export function spoken(era: 'legacy' | 'modern', { method, params = {}, ...more }: Message) {
  const message = { jsonrpc: '2.0', id: 1, method, ...more }
  const headers = { Accept: 'application/json, text/event-stream' }
  if (era === 'legacy') return { message: { ...message, params }, headers }
  const name = params['name'] ?? params['uri']
  return {
    message: { ...message, params: { ...params, _meta: ENVELOPE } },
    headers: {
      ...headers,
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(typeof name === 'string' ? { 'Mcp-Name': name } : {}),
    },
  }
}

export interface Reply {
  readonly id: unknown
  readonly result?: {
    readonly isError?: boolean
    readonly structuredContent?: Record<string, unknown>
  }
  readonly error?: { readonly code: number; readonly message: string }
}

/** Returns the messages of an answer: one, or all of an event stream. */
export function repliesOf({ text }: Answer): Reply[] {
  const data = text.match(/(?<=^data: ).+$/gm)
  const replies = (data ?? [text]).map((one) => JSON.parse(one) as Reply | Reply[])
  return replies.flat()
}

/** Sends a message and returns the answer. */
export async function speak(
  address: string,
  token: string,
  era: 'legacy' | 'modern',
  given: Message,
): Promise<{ status: number; reply: Reply }> {
  const { message, headers } = spoken(era, given)
  const answer = await ask(address, 'POST', '/mcp', { token, body: message, headers })
  const [reply] = repliesOf(answer)
  return { status: answer.status, reply: reply as Reply }
}

/** Calls a tool in one of the two eras. */
export const calling = (
  address: string,
  token: string,
  era: 'legacy' | 'modern',
  name: unknown,
  args?: unknown,
) =>
  speak(address, token, era, {
    method: 'tools/call',
    params: { name, ...(args === undefined ? {} : { arguments: args }) },
  })
