/** The places of a request that can carry a misplaced secret, each as the bytes of a request. */
import { hostOf } from '../http/raw.ts'
import type { Canary } from './canaries.ts'

/** The address of a request, and its token. */
export interface Where {
  readonly address: string
  /** A valid token of the listener; empty if it has none. */
  readonly token: string
}

export interface Place {
  readonly name: string
  /** Returns the bytes to send; null if the text cannot stand in this place. */
  readonly bytes: (canary: Canary, where: Where) => string | Buffer | null
}

interface Made {
  readonly method?: string
  readonly target?: string
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
  readonly type?: string
  /** Replaces the length of the body. */
  readonly length?: number
}

function request(
  { address, token }: Where,
  { method = 'GET', target = '/api/v1/status', headers = [], body, type, length }: Made,
): Buffer {
  const own = headers.some((line) => /^authorization:/i.test(line))
  const lines = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${hostOf(address)}`,
    'Connection: close',
    ...(token === '' || own ? [] : [`Authorization: Bearer ${token}`]),
    ...headers,
    ...(body === undefined
      ? []
      : [
          `Content-Type: ${type ?? 'application/json'}`,
          `Content-Length: ${length ?? Buffer.byteLength(body)}`,
        ]),
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body ?? '')])
}

/** Returns a text that may stand in a path unescaped; null for others. */
const inPath = (text: string) => (/^[A-Za-z0-9._~!$&'()*+,=:@-]+$/.test(text) ? text : null)

const HEADERS = [
  'Authorization',
  'Proxy-Authorization',
  'Cookie',
  'DPoP',
  'Idempotency-Key',
  'User-Agent',
  'Referer',
  'Accept',
  'Content-Encoding',
  'Countersign-Nonce',
  'Expect',
  'Forwarded',
  'Host',
  'Last-Event-ID',
  'Mcp-Session-Id',
  'Origin',
  'Sec-Fetch-Site',
  'Transfer-Encoding',
  'Upgrade',
  'X-Api-Key',
  'X-Request-Id',
]

const headerPlaces: Place[] = HEADERS.map((name) => ({
  name: `the header ${name}`,
  bytes: ({ text }, where) => request(where, { headers: [`${name}: ${text}`] }),
}))

/** Paths that answer 200, 404, 405 and 422, below and beside routes. */
const PATHS = [
  (it: string) => `/${it}`,
  (it: string) => `/api/v1/${it}`,
  (it: string) => `/api/v1/connections/${it}`,
  (it: string) => `/api/v1/guest-codes/${it}/qr`,
  (it: string) => `/api/v1/docs/${it}`,
  (it: string) => `/g/${it}`,
  (it: string) => `/s/${it}`,
  (it: string) => `/o/${it}`,
  (it: string) => `/confirm/${it}`,
  (it: string) => `/exports/${it}`,
  (it: string) => `/assets/${it}`,
]
/** Places in the path. */
export const IN_PATHS: readonly Place[] = PATHS.flatMap((path) =>
  ['GET', 'DELETE', 'POST'].map((method) => ({
    name: `${method} ${path('…')}`,
    bytes: ({ text }: Canary, where: Where) => {
      const segment = inPath(text)
      return segment === null ? null : request(where, { method, target: path(segment) })
    },
  })),
)

const QUERIES = [
  (it: string) => `/api/v1/connections?${it}=1`,
  (it: string) => `/api/v1/connections?cursor=${it}`,
  (it: string) => `/api/v1/connections?limit=${it}`,
  (it: string) => `/api/v1/status?access_token=${it}`,
  (it: string) => `/health?${it}`,
  (it: string) => `/g/gst_x?k=${it}`,
  (it: string) => `/exports/exp_x?signature=${it}`,
  (it: string) => `/api/v1/%2f${it}`,
]
const queryPlaces: Place[] = QUERIES.map((target) => ({
  name: `GET ${target('…')}`,
  bytes: ({ text }, where) => request(where, { target: target(encodeURIComponent(text)) }),
}))

const urlPlaces: Place[] = [
  {
    name: 'a URL with a user as the target',
    bytes: ({ text }, where) => {
      const user = encodeURIComponent(text)
      return request(where, { target: `http://ada:${user}@${hostOf(where.address)}/health` })
    },
  },
  {
    name: 'CONNECT',
    bytes: ({ text }, where) =>
      request(where, { method: 'CONNECT', target: `${encodeURIComponent(text)}:443` }),
  },
  { name: 'no HTTP', bytes: ({ text }) => `${text}\r\n\r\n` },
  {
    name: 'the method',
    bytes: ({ text }, where) => request(where, { method: text }),
  },
  {
    name: 'headers that are too large',
    bytes: ({ text }, where) =>
      request(where, { headers: [`X-Long: ${text.padEnd(20 * 1024, text)}`] }),
  },
]

/** The rows that get a canary in the body of a POST; JSON unless a type is named. */
const TARGETS = [
  '/api/v1/verify',
  '/api/v1/verify/public',
  '/api/v1/tags',
  '/api/v1/token',
  '/api/v1/stamp',
  '/api/v1/tools/create_tag',
  '/mcp',
  '/device/v1/session',
  '/device/v1/sign-ins',
  '/oauth/token',
  '/o/nobody',
]
const BODIES: [name: string, body: (text: string) => string | Buffer, type?: string][] = [
  ['a value', (it) => JSON.stringify({ name: it, words: it, refresh_token: it })],
  ['words', (it) => JSON.stringify({ words: it })],
  ['the name of a member', (it) => JSON.stringify({ [it]: 1 })],
  ['the name of an inner member', (it) => JSON.stringify({ name: { [it]: { [it]: it } } })],
  ['twice', (it) => `{${JSON.stringify(it)}:1,${JSON.stringify(it)}:2}`],
  ['JSON that breaks off', (it) => `{"name":${JSON.stringify(it)},`],
  ['no JSON', (it) => it],
  ['a text alone', (it) => JSON.stringify(it)],
  ['a list', (it) => JSON.stringify([it])],
  [
    'a form',
    (it) => new URLSearchParams({ token: it, [it]: '1' }).toString(),
    'application/x-www-form-urlencoded',
  ],
  ['plain text', (it) => it, 'text/plain'],
  ['its own media type', (it) => it, 'application/x'],
  ['no UTF-8', (it) => Buffer.concat([Buffer.from(`{"name":"${it}`), Buffer.from([0xff, 0x22])])],
  ['characters of many bytes', (it) => JSON.stringify({ name: `${'ä€😀'.repeat(90)}${it}😀` })],
  ['at the limit of quoted text', (it) => JSON.stringify({ [`${'k.'.repeat(90)} ${it}`]: 1 })],
]
const bodyPlaces: Place[] = TARGETS.flatMap((target) =>
  BODIES.map(([name, body, type]) => ({
    name: `POST ${target}: ${name}`,
    bytes: ({ text }: Canary, where: Where) =>
      request(where, {
        method: 'POST',
        target,
        body: body(text),
        ...(type === undefined ? {} : { type }),
      }),
  })),
)
const mediaPlaces: Place[] = [
  {
    name: 'the media type',
    bytes: ({ text }, where) =>
      request(where, { method: 'POST', target: '/api/v1/tags', body: '{}', type: text }),
  },
]

/** Messages of the Model Context Protocol, and calls of tools. */
const MESSAGES: [name: string, message: (text: string) => object][] = [
  ['a method', (it) => ({ jsonrpc: '2.0', id: 1, method: it })],
  ['an id', (it) => ({ jsonrpc: '2.0', id: { [it]: it }, method: 'tools/list' })],
  ['a tool', (it) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: it } })],
  [
    'an argument',
    (it) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'create_tag', arguments: { name: 5, [it]: it } },
    }),
  ],
  [
    'words',
    (it) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'verify', arguments: { words: it } },
    }),
  ],
]
const mcpPlaces: Place[] = MESSAGES.map(([name, message]) => ({
  name: `MCP: ${name}`,
  bytes: ({ text }, where) =>
    request(where, {
      method: 'POST',
      target: '/mcp',
      headers: ['Accept: application/json, text/event-stream'],
      body: JSON.stringify(message(text)),
    }),
}))

/** All other places. */
export const PLACES: readonly Place[] = [
  ...headerPlaces,
  ...queryPlaces,
  ...urlPlaces,
  ...mediaPlaces,
  ...bodyPlaces,
  ...mcpPlaces,
]
