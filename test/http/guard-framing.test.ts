/** Tests where a request begins and ends: a request that could be read in two ways is refused. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CLOSE,
  JSON_TYPE,
  LISTENERS,
  ask1,
  checkHeaders,
  daemon,
  only,
  refused,
  withDaemon,
  write,
} from './guarding.ts'
import { answersIn, hostOf, send } from './raw.ts'

withDaemon()

describe('framing', () => {
  type Case = [name: string, bytes: (host: string) => string]
  const post = (host: string, ...lines: string[]) =>
    `${['POST /api/v1/token HTTP/1.1', `Host: ${host}`, JSON_TYPE, ...lines].join('\r\n')}\r\n\r\n`
  const get = (host: string, ...lines: string[]) =>
    `${['GET /health HTTP/1.1', `Host: ${host}`, ...lines].join('\r\n')}\r\n\r\n`
  const inner = `GET /health HTTP/1.1\r\nHost: x\r\n\r\n`

  const cases: Case[] = [
    ['two Hosts', (host) => get(host, 'Host: evil.example')],
    ['the same Host twice', (host) => get(host, `Host: ${host}`)],
    ['no Host', () => 'GET /health HTTP/1.1\r\n\r\n'],
    ['HTTP/1.0 without Host', () => 'GET /health HTTP/1.0\r\n\r\n'],
    ['HTTP/0.9', () => 'GET /health\r\n\r\n'],
    ['HTTP/2.0', (host) => `GET /health HTTP/2.0\r\nHost: ${host}\r\n\r\n`],
    ['the HTTP/2 preface', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an absolute target', (host) => `GET http://${host}/health HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    [
      'an absolute target, before the Host is checked',
      (host) => `GET http://${host}/health HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
    ],
    ['an asterisk target', (host) => `OPTIONS * HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['a target without a slash', (host) => `GET health HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['a space before the colon', (host) => `GET /health HTTP/1.1\r\nHost : ${host}\r\n\r\n`],
    ['a space before the first header', (host) => `GET /health HTTP/1.1\r\n Host: ${host}\r\n\r\n`],
    ['a bare LF after the request line', (host) => `GET /health HTTP/1.1\nHost: ${host}\r\n\r\n`],
    ['a bare LF after a header', (host) => `GET /health HTTP/1.1\r\nHost: ${host}\n\r\n`],
    ['bare LFs everywhere', (host) => `GET /health HTTP/1.1\nHost: ${host}\n\n`],
    ['a bare CR', (host) => get(host, 'X: a\rb')],
    ['a NUL', (host) => get(host, 'X: a\0b')],
    ['a folded header', (host) => get(host, 'X: a', ' b')],
    ['no method', (host) => ` /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['an unknown method', (host) => `BREW /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    [
      'both lengths',
      (host) => `${post(host, 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n${inner}`,
    ],
    [
      'both lengths, in the other order',
      (host) => `${post(host, 'Transfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n${inner}`,
    ],
    ['two lengths', (host) => `${post(host, 'Content-Length: 2', 'Content-Length: 3')}{}x`],
    ['a repeated length', (host) => `${post(host, 'Content-Length: 2', 'Content-Length: 2')}{}`],
    ['a list of lengths', (host) => `${post(host, 'Content-Length: 2, 2')}{}`],
    ['a negative length', (host) => `${post(host, 'Content-Length: -1')}{}`],
    ['a signed length', (host) => `${post(host, 'Content-Length: +2')}{}`],
    ['a hexadecimal length', (host) => `${post(host, 'Content-Length: 0x2')}{}`],
    ['an empty length', (host) => `${post(host, 'Content-Length: ')}{}`],
    ['a length beyond 2^64', (host) => `${post(host, 'Content-Length: 18446744073709551618')}{}`],
    [
      'an unknown coding',
      (host) => `${post(host, 'Transfer-Encoding: xchunked')}0\r\n\r\n${inner}`,
    ],
    [
      'a coding before chunked',
      (host) => `${post(host, 'Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
    ],
    [
      'a coding after chunked',
      (host) => `${post(host, 'Transfer-Encoding: chunked, identity')}0\r\n\r\n`,
    ],
    [
      'chunked twice',
      (host) =>
        `${post(host, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    ],
    ['identity', (host) => `${post(host, 'Transfer-Encoding: identity')}${inner}`],
    [
      'a vertical tab in the coding',
      (host) => `${post(host, 'Transfer-Encoding: \x0bchunked')}0\r\n\r\n`,
    ],
    ['a quoted coding', (host) => `${post(host, 'Transfer-Encoding: "chunked"')}0\r\n\r\n`],
    [
      'chunked in HTTP/1.0',
      (host) => post(host, 'Transfer-Encoding: chunked').replace('1.1', '1.0') + '0\r\n\r\n',
    ],
    [
      'an invalid chunk size',
      (host) => `${post(host, 'Transfer-Encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`,
    ],
    [
      'a chunk longer than declared',
      (host) => `${post(host, 'Transfer-Encoding: chunked')}1\r\n{}\r\n0\r\n\r\n`,
    ],
    ['a chunk with bare LFs', (host) => `${post(host, 'Transfer-Encoding: chunked')}2\n{}\n0\n\n`],
    [
      'a chunk size beyond 2^64',
      (host) => `${post(host, 'Transfer-Encoding: chunked')}fffffffffffffffff\r\n{}`,
    ],
    [
      'two Authorizations',
      (host) => get(host, 'Authorization: Bearer a', 'Authorization: Bearer b'),
    ],
  ]

  for (const at of LISTENERS)
    for (const [name, bytes] of cases)
      test(`${at}: ${name} → 400, one answer, closed`, async () => {
        // `send` ends only when the server has closed the connection.
        const text = bytes(hostOf(daemon[at]))
        // A path of this listener that accepts a POST from any client, so that the server reads
        // the body.
        const sent = at === 'address' ? text : text.replace('/api/v1/token', '/device/v1/session')
        const answers = answersIn(await send(daemon[at], sent))
        const { headers } = refused(answers, 400, 'bad_request')
        assert.equal(headers['connection'], 'close')
      })

  test('invalid bytes are rejected after the answer to the request before them', async () => {
    for (const good of ['GET /health', 'GET /api/v1/status']) {
      const lines = `${good} HTTP/1.1\r\nHost: ${hostOf(daemon.address)}\r\nAuthorization: Bearer ${write}\r\n\r\n`
      const [first, ...rest] = answersIn(await send(daemon.address, `${lines}\0\0\r\n\r\n`))
      assert.equal(first?.status, 200)
      assert.deepEqual(rest, [])
    }
  })

  test('headers of more than 16 KiB → 431', async () => {
    for (const at of LISTENERS) {
      const fit = await ask1(at, (host) => [
        'GET /health HTTP/1.1',
        `Host: ${host}`,
        CLOSE,
        `X: ${'a'.repeat(15_000)}`,
      ])
      assert.equal(only(fit).status, 200)
      const answers = await ask1(at, (host) => [
        'GET /health HTTP/1.1',
        `Host: ${host}`,
        `X: ${'a'.repeat(16_500)}`,
      ])
      refused(answers, 431, 'headers_too_large')
    }
  })

  test('a request line of more than 16 KiB → 431', async () => {
    for (const at of LISTENERS) {
      const answers = await ask1(at, (host) => [
        `GET /${'a'.repeat(16_500)} HTTP/1.1`,
        `Host: ${host}`,
      ])
      refused(answers, 431, 'headers_too_large')
    }
  })

  test('many headers hide nothing from the guard', async () => {
    const many = Array.from({ length: 500 }, () => 'a:')
    const answers = await ask1('address', (host) => [
      'GET /health HTTP/1.1',
      `Host: ${host}`,
      CLOSE,
      ...many,
      'Origin: http://evil.example',
    ])
    refused(answers, 403, 'origin_not_allowed')
  })

  test('each of several pipelined requests is checked', async () => {
    const { address } = daemon
    const one = (host: string, ...lines: string[]) =>
      `${['GET /health HTTP/1.1', `Host: ${host}`, ...lines].join('\r\n')}\r\n\r\n`
    const own = hostOf(address)
    const bytes =
      one(own) + one('evil.example') + one(own, 'Origin: null') + one(own) + one(own, CLOSE)
    const answers = answersIn(await send(address, bytes))
    for (const answer of answers) checkHeaders(answer)
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 403, 403, 200, 200],
    )
    assert.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, 5)
  })
})
