import { CONTENT_TOOL, LARGEST_CALL } from '../../api/agents/index.ts'
import { isEventStream } from '../../api/event-stream.ts'
import { rest } from '../../api/rest/index.ts'
import type { Content } from '../../api/route.ts'
import { restNeed } from '../../auth/scopes.ts'
import { AppError } from '../../errors.ts'
import type { Ask } from '../../api/tools/call.ts'
import { ProtocolErrorCode, type Server, createMcpHandler } from '../../api/tools/sdk.ts'
import { type Report, newServers } from '../../api/tools/server.ts'
import type { AgentHandlers } from '../context.ts'

const JSON_ALONE = /^(?!.*text\/event-stream).*(?:application\/json|\*\/\*)/i
/** Always answered by events, independent of what the client accepts. */
const LISTENING = 'subscriptions/listen'

/**
 * What the protocol's library wants every client to accept. It answers calls by events, of which
 * each has one line of data.
 */
const BOTH = 'application/json, text/event-stream'
const DATA = /^data: (.+)$/gm

/** Whether a message is answered in JSON because the client takes nothing else. */
const isJsonAlone = (accept: string, message: unknown): boolean =>
  JSON_ALONE.test(accept) && (message as { method?: unknown } | null)?.method !== LISTENING

/**
 * The answers in an event stream as JSON: one, or all to a batch. Requests and notifications to the
 * client are left out.
 */
async function inJson(response: Response, isBatch: boolean): Promise<string> {
  const messages = [...(await response.text()).matchAll(DATA)].map(([, data = '']) => data)
  const answers = messages.filter((data) => !('method' in (JSON.parse(data) as object)))
  return isBatch ? `[${answers.join(',')}]` : (answers[0] ?? '')
}

/** What the protocol reads of a request, beside its body. */
const FIELDS = [
  'accept',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
]

/** The first version that has no batches; versions are dates. */
const WITHOUT_BATCHES = '2025-06-18'

/** Whoever speaks an earlier version may send a few at once. */
const LARGEST_BATCH = 10

/** No message needs as many members, or as deep ones; whoever judges it pays for each. */
const MOST_MEMBERS = 5000
const DEEPEST = 64

const refused = (message: string): Content => ({
  type: 'application/json',
  status: 400,
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code: ProtocolErrorCode.InvalidRequest, message },
  }),
})

/** How many values are in one, itself included: more than may be where it is too deep. */
function countIn(value: unknown, levels = DEEPEST): number {
  if (typeof value !== 'object' || value === null) return 1
  if (levels === 0) return Infinity
  let count = 1
  for (const inner of Object.values(value)) {
    count += countIn(inner, levels - 1)
    if (count > MOST_MEMBERS) return Infinity
  }
  return count
}

const callsFor = (message: unknown): unknown =>
  (message as { params?: { name?: unknown } } | null)?.params?.name

/** The message of a body; undefined for what is no JSON. */
function messageOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/**
 * What is refused before the protocol looks at it; null for nothing, and for what is no JSON, which
 * it says in its own words.
 * @throws AppError payload_too_large
 */
function refusalOf(message: unknown, body: string, version: string): Content | null {
  if (body.length > LARGEST_CALL && callsFor(message) !== CONTENT_TOOL)
    throw new AppError(
      'payload_too_large',
      `Only a message that calls ${CONTENT_TOOL} may be larger than ${LARGEST_CALL} characters.`,
    )
  if (countIn(message) > MOST_MEMBERS)
    return refused(`A message has at most ${MOST_MEMBERS} values, ${DEEPEST} levels deep.`)
  if (!Array.isArray(message)) return null
  const isKnown = /^\d{4}-\d\d-\d\d$/.test(version)
  return (isKnown && version >= WITHOUT_BATCHES) || message.length > LARGEST_BATCH
    ? refused(
        `There are no batches since version ${WITHOUT_BATCHES}, and none of more than ${LARGEST_BATCH} before: send each message by itself.`,
      )
    : null
}

/**
 * The protocol over HTTP, each request answered by a server of its own.
 * @param serverFor makes that server; its caller was judged before
 */
export function overHttp(
  serverFor: (ask: Ask, report: Report) => Server,
): AgentHandlers['mcp']['post'] {
  return async ({ body }, context) => {
    const { askAnew: ask, home } = context
    const version = context.header('mcp-protocol-version') ?? ''
    const message = messageOf(body)
    const refusal = refusalOf(message, body, version)
    if (refusal !== null) return refusal
    const report: Report = (tool, error) =>
      home.log('error', 'tool failed', { tool, error: error.code, cause: error.cause ?? error })
    let failure: Error | undefined
    const handler = createMcpHandler(() => serverFor(ask, report), {
      onerror: (error) => {
        failure = error
      },
    })
    const isJson = isJsonAlone(context.accept, message)
    const fields = FIELDS.flatMap((name): [string, string][] => {
      const value = name === 'accept' && isJson ? BOTH : context.header(name)
      return value === undefined ? [] : [[name, value]]
    })
    // The protocol reads no more of a URL than that it is one.
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers: fields, body })
    const response = await handler.fetch(request)
    // What the protocol refuses it quotes, and a log must not: only what failed here is told.
    if (response.status >= 500) home.log('error', 'protocol failed', { cause: failure })
    const type = response.headers.get('content-type') ?? 'application/json'
    if (isJson && isEventStream(type)) {
      const text = await inJson(response, Array.isArray(message))
      return { type: 'application/json', status: response.status, body: text }
    }
    return { type, status: response.status, body: response.body ?? '' }
  }
}

export const mcp: AgentHandlers['mcp'] = { post: overHttp(newServers(rest, restNeed)) }
