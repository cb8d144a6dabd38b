/**
 * Requests with boundaries that two parsers could read differently, and requests for another
 * protocol.
 */
import {
  type Attack,
  CLOSE,
  JSON_TYPE,
  NEW_TOKEN,
  everywhere,
  isOverSocket,
  opened,
  requestTo,
  takesBody,
} from './attack.ts'
import type { Target } from './routes.ts'
import type { Scene } from './scene.ts'

/** Returns a request worth smuggling. */
const inner = (host: string) =>
  `POST /api/v1/token HTTP/1.1\r\nHost: ${host}\r\n${JSON_TYPE}\r\nContent-Length: ${NEW_TOKEN.length}\r\n\r\n${NEW_TOKEN}`

type Frame = readonly [name: string, lines: readonly string[], body: string]

const CHUNKED = 'Transfer-Encoding: chunked'

/** Header lines and the bytes after them; the smuggled request follows. */
const FRAMES: readonly Frame[] = [
  ['both lengths', ['Content-Length: 5', CHUNKED], '0\r\n\r\n'],
  ['both lengths, in the other order', [CHUNKED, 'Content-Length: 5'], '0\r\n\r\n'],
  ['two lengths', ['Content-Length: 0', 'Content-Length: 5'], ''],
  ['a repeated length', ['Content-Length: 2', 'Content-Length: 2'], '{}'],
  ['a list of lengths', ['Content-Length: 2, 2'], '{}'],
  ['a signed length', ['Content-Length: +2'], '{}'],
  ['a length in hexadecimal', ['Content-Length: 0x2'], '{}'],
  ['a length beyond 2^64', ['Content-Length: 18446744073709551618'], '{}'],
  ['an unknown coding', ['Transfer-Encoding: xchunked'], '0\r\n\r\n'],
  ['a coding before chunked', ['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'],
  ['a coding after chunked', ['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'],
  ['chunked twice', [CHUNKED, CHUNKED], '0\r\n\r\n'],
  ['identity', ['Transfer-Encoding: identity'], ''],
  ['a vertical tab in the coding', ['Transfer-Encoding: \x0bchunked'], '0\r\n\r\n'],
  ['a space before the colon', ['Transfer-Encoding : chunked'], '0\r\n\r\n'],
  ['a folded header', ['X: a', ' b'], ''],
  ['a bare CR', ['X: a\rContent-Length: 5'], ''],
  ['a bare LF', ['X: a\nContent-Length: 5'], ''],
  ['a NUL', ['X: a\0b'], ''],
  ['a header without a colon', ['X'], ''],
  ['two Authorizations', ['Authorization: Bearer a', 'Authorization: Bearer b'], ''],
]

const smuggled = FRAMES.map(([name, lines, body]): Attack => ({
  row: 'Smuggling, odd HTTP',
  name,
  on: everywhere,
  shots: async (target, scene) => [
    {
      bytes: (await opened(target, scene, { lines, body })) + inner(scene.at[target.listener].host),
      want: /^400 bad_request$/,
      alone: true,
    },
  ],
}))

/**
 * A request behind one with a rejected path: the server closes the connection without reading it.
 */
const behind: Attack = {
  row: 'Smuggling, odd HTTP',
  name: 'a request behind a rejected one',
  on: everywhere,
  shots: async (target, scene) => [
    {
      bytes:
        (await opened(target, scene, { path: `${target.path}/./x` })) +
        inner(scene.at[target.listener].host),
      want: /^400 bad_request$/,
      alone: true,
    },
  ],
}

/** Faulty chunks. The server reads the body of an authorized caller only. */
const CHUNKS: readonly [name: string, body: string][] = [
  ['an invalid chunk size', 'zz\r\n{}\r\n0\r\n\r\n'],
  ['a chunk longer than declared', '1\r\n{}\r\n0\r\n\r\n'],
  ['chunks with bare LFs', '2\n{}\n0\n\n'],
  ['a chunk size beyond 2^64', 'fffffffffffffffff\r\n{}'],
]

const chunked = CHUNKS.map(([name, body]): Attack => ({
  row: 'Smuggling, odd HTTP',
  name,
  on: takesBody,
  shots: async (target, scene) => {
    const lines = [
      ...(await scene.opens(target).lines(target.method, target.path)),
      JSON_TYPE,
      CHUNKED,
    ]
    const form = target.route?.form === true
    const typed = form ? lines.map((line) => line.replace('json', 'x-www-form-urlencoded')) : lines
    const bytes = requestTo(target, scene, { lines: typed, body })
    return [{ bytes, want: /^400 bad_request$/, alone: true }]
  },
}))

const UNDER_ANOTHER_NAME = ', under another name'

const LINES: readonly [name: string, change: (bytes: string) => string, want?: RegExp][] = [
  ['bare LFs everywhere', (bytes) => bytes.replaceAll('\r\n', '\n')],
  ['a bare LF after the request line', (bytes) => bytes.replace('\r\n', '\n')],
  ['HTTP/0.9', (bytes) => bytes.replace(/ HTTP\/1\.1\r\n[^]*/, '\r\n\r\n')],
  ['HTTP/2.0', (bytes) => bytes.replace('HTTP/1.1', 'HTTP/2.0')],
  [
    'HTTP/1.0 with a coding',
    (bytes) =>
      bytes
        .replace(' HTTP/1.1', ' HTTP/1.0')
        .replace('\r\n\r\n', `\r\n${CHUNKED}\r\n\r\n0\r\n\r\n`),
  ],
  ['an unknown method', (bytes) => bytes.replace(/^\w+/, 'BREW')],
  ['a method in lower case', (bytes) => bytes.replace(/^\w+/, (method) => method.toLowerCase())],
  [
    'headers of 17 KiB',
    (bytes) => bytes.replace('\r\n\r\n', `\r\nX: ${'a'.repeat(17_000)}\r\n\r\n`),
    /^431 headers_too_large$/,
  ],
  [
    'more headers than are read',
    (bytes) => bytes.replace('\r\n\r\n', `\r\n${'a:\r\n'.repeat(1100)}Origin: null\r\n\r\n`),
    /^431 headers_too_large$/,
  ],
  [
    'a path of 17 KiB',
    (bytes) => bytes.replace(' HTTP', `${'a'.repeat(17_000)} HTTP`),
    /^431 headers_too_large$/,
  ],
  [
    'CONNECT',
    (bytes) => bytes.replace(/^\w+ \S+/, 'CONNECT evil.example:443'),
    /^405 method_not_allowed$/,
  ],
  [
    'CONNECT to the path',
    (bytes) => bytes.replace(/^\w+/, 'CONNECT'),
    /^(400 bad_request|405 method_not_allowed)$/,
  ],
  [
    'an expectation',
    (bytes) => bytes.replace('\r\n\r\n', '\r\nExpect: x\r\n\r\n'),
    /^417 expectation_failed$/,
  ],
  [
    `an expectation${UNDER_ANOTHER_NAME}`,
    (bytes) =>
      bytes.replace(/Host: .*/, 'Host: evil.example').replace('\r\n\r\n', '\r\nExpect: x\r\n\r\n'),
    /^403 host_not_allowed$/,
  ],
  [
    `a body that waits for 100 Continue${UNDER_ANOTHER_NAME}`,
    (bytes) =>
      bytes
        .replace(/Host: .*/, 'Host: evil.example')
        .replace('\r\n\r\n', '\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n'),
    /^403 host_not_allowed$/,
  ],
]

const lines = LINES.map(([name, change, want = /^400 bad_request$/]): Attack => ({
  row: 'Smuggling, odd HTTP',
  name,
  on: everywhere,
  shots: async (target, scene) =>
    // Over the socket, no name is another one.
    name.endsWith(UNDER_ANOTHER_NAME) && isOverSocket(target, scene)
      ? []
      : [{ bytes: change(await opened(target, scene)), want, alone: true }],
}))

const nobody = (target: Target, scene: Scene, more: readonly string[], body?: string) =>
  requestTo(target, scene, { lines: more, ...(body === undefined ? {} : { body }) })

const waits: Attack = {
  row: 'Smuggling, odd HTTP',
  name: 'a body that waits for 100 Continue, without a token',
  on: ({ need }) => need !== 'none',
  shots: (target, scene) => [
    {
      bytes: nobody(target, scene, ['Expect: 100-continue', JSON_TYPE, 'Content-Length: 2']),
      want: /^401 unauthorized$/,
      alone: true,
    },
  ],
}

const UPGRADES: readonly [name: string, lines: readonly string[]][] = [
  [
    'websocket',
    [
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13',
    ],
  ],
  [
    'h2c',
    ['Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAAQAAP__'],
  ],
]

const upgrades = UPGRADES.map(([name, more]): Attack => ({
  row: 'Smuggling, odd HTTP',
  name: `an upgrade to ${name}, and a request behind it`,
  on: everywhere,
  shots: (target, scene) => [
    {
      bytes: nobody(target, scene, more) + inner(scene.at[target.listener].host),
      want: target.need === 'none' ? /^(?!101|5)\d{3}/ : /^401 unauthorized$/,
      alone: true,
    },
  ],
}))

/** A valid frame: the text in the body looks like a request and is not read as one. */
const inside: Attack = {
  row: 'Smuggling, odd HTTP',
  name: 'a request inside a body',
  on: takesBody,
  shots: async (target, scene) => {
    const body = inner(scene.at[target.listener].host)
    const own = await scene.opens(target).lines(target.method, target.path)
    const bytes = nobody(target, scene, [...own, 'Content-Type: text/plain', CLOSE], body)
    // A required query is validated before the body is read.
    const want = /^(415 unsupported_media_type|422 validation_failed)$/
    return [{ bytes, want, alone: true }]
  },
}

export const framing: readonly Attack[] = [
  ...smuggled,
  behind,
  ...chunked,
  ...lines,
  waits,
  ...upgrades,
  inside,
]
