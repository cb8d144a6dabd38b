/**
 * Tests methods on both listeners, among them HEAD, TRACE, CONNECT and Upgrade.
 * A method unknown to a route is refused.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CLOSE,
  JSON_TYPE,
  LISTENERS,
  NEW_TOKEN,
  ask1,
  daemon,
  only,
  refused,
  withDaemon,
  write,
} from './guarding.ts'
import { hostOf, send, type RawAnswer } from './raw.ts'

withDaemon()

describe('methods', () => {
  const at = (path: string, method: string, token?: string) =>
    ask1('address', (host) => [
      `${method} ${path} HTTP/1.1`,
      `Host: ${host}`,
      CLOSE,
      ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ])

  const cases: [method: string, path: string, token: boolean, status: number, allow?: string][] = [
    ['TRACE', '/api/v1/status', false, 401],
    ['TRACE', '/api/v1/status', true, 405, 'GET, HEAD'],
    ['PUT', '/api/v1/connections', false, 401],
    ['PUT', '/api/v1/connections', true, 405, 'GET, POST, HEAD'],
    ['OPTIONS', '/api/v1/connections', false, 401],
    ['OPTIONS', '/api/v1/connections', true, 405, 'GET, POST, HEAD'],
    ['POST', '/health', false, 405, 'GET, HEAD'],
    ['DELETE', '/api/v1/openapi.json', false, 405, 'GET, HEAD'],
    ['TRACE', '/health', false, 405, 'GET, HEAD'],
    ['OPTIONS', '/health', false, 405, 'GET, HEAD'],
    ['GET', '/api/v1/token', false, 405, 'POST'],
    ['HEAD', '/api/v1/token', false, 405, 'POST'],
    ['PUT', '/api/v1/presets/default', true, 405, 'DELETE'],
    ['GET', '/api/v1/presets/default', true, 405, 'DELETE'],
    ['GET', '/', false, 200],
    ['GET', '/', true, 200],
    ['GET', '/mcp', false, 401],
    ['PROPFIND', '/api/v1/connections', true, 405, 'GET, POST, HEAD'],
    ['M-SEARCH', '/api/v1/connections', false, 401],
    ['POST', '/api/v1/docs', false, 405, 'GET, HEAD'],
    ['GET', '/api/v1/docs/nope.js', false, 404],
  ]
  for (const [method, path, token, status, allow] of cases)
    test(`${method} ${path} ${token ? 'with' : 'without'} a token → ${status}`, async () => {
      const answer = only(await at(path, method, token ? write : undefined))
      assert.equal(answer.status, status)
      assert.equal(answer.headers['allow'], allow)
    })

  for (const listener of LISTENERS)
    test(`${listener}: TRACE → 405, never returns the request`, async () => {
      const answers = await ask1(listener, (host) => [
        'TRACE /health HTTP/1.1',
        `Host: ${host}`,
        CLOSE,
        `Authorization: Bearer ${write}`,
      ])
      assert(!refused(answers, 405, 'method_not_allowed').body.includes(write))
    })

  for (const path of [
    '/health',
    '/api/v1/openapi.json',
    '/api/v1/docs',
    '/api/v1/status',
    '/api/v1/connections',
    '/api/v1/no/such',
  ])
    test(`HEAD ${path} is GET without the body`, async () => {
      const [get, head] = [only(await at(path, 'GET', write)), only(await at(path, 'HEAD', write))]
      const rest = ({ headers }: RawAnswer) => {
        const { 'x-request-id': _, date: __, ...same } = headers
        return same
      }
      assert.equal(head.status, get.status)
      // Times in the body may change its length by a digit. The body of the docs never changes.
      assert.deepEqual(Object.keys(rest(head)), Object.keys(rest(get)))
      if (!/health|status/.test(path) && get.status === 200) assert.deepEqual(rest(head), rest(get))
      const bytes = await send(
        daemon.address,
        `HEAD ${path} HTTP/1.1\r\nHost: ${hostOf(daemon.address)}\r\nAuthorization: Bearer ${write}\r\n${CLOSE}\r\n\r\n`,
      )
      assert(bytes.endsWith('\r\n\r\n'))
      assert.notEqual(get.body, '')
    })

  for (const listener of LISTENERS)
    test(`${listener}: CONNECT → 405, closed`, async () => {
      for (const target of ['x.example:443', hostOf(daemon[listener])]) {
        const answers = await ask1(listener, (host) => [
          `CONNECT ${target} HTTP/1.1`,
          `Host: ${host}`,
        ])
        assert.match(refused(answers, 405, 'method_not_allowed').headers['allow'] ?? '', /GET/)
      }
    })

  const upgrades: [name: string, lines: string[]][] = [
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
  for (const listener of LISTENERS)
    for (const [name, lines] of upgrades)
      test(`${listener}: Upgrade to ${name} is not followed`, async () => {
        const next = `GET /health HTTP/1.1\r\nHost: x\r\n\r\n`
        const answers = await ask1(
          listener,
          (host) => ['GET /health HTTP/1.1', `Host: ${host}`, ...lines],
          next,
        )
        assert.equal(only(answers).status, 200)
        assert.equal(
          only(await ask1(listener, () => ['GET /health HTTP/1.1', 'Host: x', ...lines])).status,
          403,
        )
      })

  test('a body that comes with an Upgrade is read (as the HTTP client of Java sends it)', async () => {
    const [, lines] = upgrades[1] as [string, string[]]
    const answers = await ask1(
      'address',
      (host) => [
        'POST /api/v1/token HTTP/1.1',
        `Host: ${host}`,
        ...lines,
        JSON_TYPE,
        `Content-Length: ${NEW_TOKEN.length}`,
      ],
      NEW_TOKEN,
    )
    assert.equal(only(answers).status, 201)
  })
})
