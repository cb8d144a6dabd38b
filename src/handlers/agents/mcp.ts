import { CONTENT_TOOL, LARGEST_CALL } from '../../api/agents/index.ts'
import { isEventStream } from '../../api/event-stream.ts'
import { DEEPEST_TEXT, isWithin } from '../../api/json-shape.ts'
import { rest } from '../../api/rest/index.ts'
import type { Content } from '../../api/route.ts'
import { restNeed } from '../../auth/scopes.ts'
import { AppError } from '../../errors.ts'
import type { Ask } from '../../api/tools/call.ts'
import { LISTENING, narrowed } from '../../api/tools/resources.ts'
import { ProtocolErrorCode, type Server, createMcpHandler } from '../../api/tools/sdk.ts'
import { type ReportCall, type McpServerOptions, newServers } from '../../api/tools/server.ts'
import type { AgentHandlers } from '../context.ts'
import { newSubscription } from './mcp-stream.ts'
import { chosenSets } from './tools.ts'

const JSON_ALONE = /^(?!.*text\/event-stream).*(?:application\/json|\*\/\*)/i
/**
 * The media types that the MCP library requires every client to accept.
 *
 * The library answers each call with events that have one data line each.
 */
const BOTH = 'application/json, text/event-stream'
const DATA = /^data: (.+)$/gm

const methodOf = (message: unknown) => (message as { method?: unknown } | null)?.method

/**
 * Checks whether a message must be answered in JSON because the client does not accept events. A
 * subscription is always answered with an event stream.
 */
const isJsonAlone = (accept: string, message: unknown): boolean =>
  JSON_ALONE.test(accept) && methodOf(message) !== LISTENING

/**
 * Converts the answers in an event stream to JSON: one object, or an array for a batch. Omits
 * requests and notifications to the client.
 */
async function inJson(response: Response, isBatch: boolean): Promise<string> {
  const messages = [...(await response.text()).matchAll(DATA)].map(([, data = '']) => data)
  const answers = messages.filter((data) => !('method' in (JSON.parse(data) as object)))
  return isBatch ? `[${answers.join(',')}]` : (answers[0] ?? '')
}

/** The header fields that the MCP library reads. */
const FIELDS = [
  'accept',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
]

/** The first protocol version without batches. Versions are dates. */
const WITHOUT_BATCHES = '2025-06-18'

/** The maximum number of messages in a batch, for clients of earlier versions. */
const LARGEST_BATCH = 10

/**
 * The maximum number of values in a message. No valid message needs more, and validating each value
 * takes time.
 */
const MOST_MEMBERS = 5000

const refused = (message: string): Content => ({
  type: 'application/json',
  status: 400,
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code: ProtocolErrorCode.InvalidRequest, message },
  }),
})

const callsFor = (message: unknown): unknown =>
  (message as { params?: { name?: unknown } } | null)?.params?.name

/** Returns the message of a body; undefined if it is not JSON. */
function messageOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/**
 * Returns a rejection of a message before the MCP library sees it; null if the message is
 * acceptable.
 *
 * Returns null too if the body is not JSON, because the library rejects it.
 * @throws AppError payload_too_large
 */
function refusalOf(message: unknown, body: string, version: string): Content | null {
  if (body.length > LARGEST_CALL && callsFor(message) !== CONTENT_TOOL)
    throw new AppError(
      'payload_too_large',
      `Only a message that calls ${CONTENT_TOOL} may be larger than ${LARGEST_CALL} characters.`,
    )
  if (!isWithin(message, DEEPEST_TEXT, MOST_MEMBERS))
    return refused(
      `A message may have at most ${MOST_MEMBERS} values, nested at most ${DEEPEST_TEXT} levels deep.`,
    )
  if (!Array.isArray(message)) return null
  const isKnown = /^\d{4}-\d\d-\d\d$/.test(version)
  return (isKnown && version >= WITHOUT_BATCHES) || message.length > LARGEST_BATCH
    ? refused(
        `Batches are not supported since version ${WITHOUT_BATCHES}, nor with more than ${LARGEST_BATCH} messages before. Send each message separately.`,
      )
    : null
}

/** Returns how a client chooses sets of tools. */
const toChoose = (sets: string) => `add ?tools=${sets} to the address of this server`

/**
 * Serves MCP over HTTP, with a new server object for each request.
 * @param serverFor creates the server object; the caller is already authenticated
 */
export function overHttp(
  serverFor: (ask: Ask, report: ReportCall, options: McpServerOptions) => Server,
): AgentHandlers['mcp']['post'] {
  return async ({ body, tools }, context) => {
    const { askAnew: ask, home } = context
    const sets = chosenSets(tools)
    const version = context.header('mcp-protocol-version') ?? ''
    const { message, uris } = narrowed(messageOf(body))
    const refusal = refusalOf(message, body, version)
    if (refusal !== null) return refusal
    const report: ReportCall = (tool, error) =>
      home.log('error', 'tool failed', { tool, error: error.code, cause: error.cause ?? error })
    let failure: Error | undefined
    const subscription = newSubscription()
    // Without sessions, a client of an earlier version has no stream on which it gets notices.
    const options = { sets, toChoose }
    const factory: Parameters<typeof createMcpHandler>[0] = ({ era }) =>
      serverFor(ask, report, { ...options, canSubscribe: era === 'modern' })
    const handler = createMcpHandler(factory, {
      bus: subscription.bus,
      onerror: (error) => {
        failure = error
      },
    })
    const isJson = isJsonAlone(context.accept, message)
    const fields = FIELDS.flatMap((name): [string, string][] => {
      const value = name === 'accept' && isJson ? BOTH : context.header(name)
      return value === undefined ? [] : [[name, value]]
    })
    // The library only requires that the URL is valid.
    const request = new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: fields,
      body: methodOf(message) === LISTENING ? JSON.stringify(message) : body,
    })
    const response = await handler.fetch(request)
    // The library's message quotes the rejected input, which must not be logged. So only failures
    // of this server are logged.
    if (response.status >= 500) home.log('error', 'protocol failed', { cause: failure })
    const type = response.headers.get('content-type') ?? 'application/json'
    if (subscription.isOpen()) {
      const stream = response.body as ReadableStream<Uint8Array>
      const end = (cause?: unknown) => {
        if (cause !== undefined) home.log('error', 'protocol failed', { cause })
        void handler.close()
      }
      const body = await subscription.notify(ask, uris, stream, end)
      return { type, body, lasting: true }
    }
    if (isJson && isEventStream(type)) {
      const text = await inJson(response, Array.isArray(message))
      return { type: 'application/json', status: response.status, body: text }
    }
    return { type, status: response.status, body: response.body ?? '' }
  }
}

export const mcp: AgentHandlers['mcp'] = { post: overHttp(newServers(rest, restNeed)) }
