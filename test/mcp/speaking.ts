/** The protocol by hand: requests as no client would send them. */
import { type Answer, ask } from '../daemon.ts'

const META = 'io.modelcontextprotocol/'

/** What a request of the newest version says of its sender. */
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

/** A message of one of the two eras, with the header fields that belong to it. */
export function spoken(era: 'legacy' | 'modern', { method, params = {}, ...more }: Message) {
  const message = { jsonrpc: '2.0', id: 1, method, ...more }
  const headers = { Accept: 'application/json, text/event-stream' }
  if (era === 'legacy') return { message: { ...message, params }, headers }
  const { name } = params
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

/** What came back: one message, or all of an event stream. */
export function repliesOf({ text }: Answer): Reply[] {
  const data = text.match(/(?<=^data: ).+$/gm)
  const said = (data ?? [text]).map((one) => JSON.parse(one) as Reply | Reply[])
  return said.flat()
}

/** Send a message and give back what is answered to it. */
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

/** Call a tool in one of the two eras. */
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
