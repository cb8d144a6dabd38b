/** The guard, over raw sockets, on both listeners: each row of the design's table of attacks that the server itself must meet. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { type TestDaemon, ask, startDaemon } from '../daemon.ts'
import { type RawAnswer, answersIn, exchange, hostOf, send } from './raw.ts'

let daemon: TestDaemon
let write: string

before(async () => {
  daemon = await startDaemon()
  write = await daemon.token('write')
})
after(() => daemon.close())

type Listener = 'address' | 'accountAddress'
const LISTENERS: Listener[] = ['address', 'accountAddress']
const CLOSE = 'Connection: close'
const JSON_TYPE = 'Content-Type: application/json'
const NEW_TOKEN = '{"name":"n","scope":"read"}'

const errorOf = ({ body }: RawAnswer) => (JSON.parse(body) as { error: string }).error

/** What every answer has, whatever went wrong. */
function checkHeaders({ headers, status }: RawAnswer): void {
  assert.match(headers['x-request-id'] ?? '', /^[\w-]+$/)
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['cache-control'], 'no-store')
  assert.match(headers['content-security-policy'] ?? '', /frame-ancestors 'none'/)
  assert(!Object.keys(headers).some((name) => name.startsWith('access-control')), 'CORS header')
  assert(!('set-cookie' in headers), 'cookie')
  assert.notEqual(status, 101)
}

function only(answers: RawAnswer[]): RawAnswer {
  assert.equal(answers.length, 1, JSON.stringify(answers))
  const [answer] = answers as [RawAnswer]
  checkHeaders(answer)
  return answer
}

function refused(answers: RawAnswer[], status: number, error: string): RawAnswer {
  const answer = only(answers)
  assert.equal(`${answer.status} ${errorOf(answer)}`, `${status} ${error}`)
  return answer
}

const portOf = (address: string) => new URL(address).port
const ask1 = (at: Listener, lines: (host: string) => string[], body = '') =>
  exchange(daemon[at], lines(hostOf(daemon[at])), body)

describe('Host', () => {
  const lan =
    Object.values(networkInterfaces())
      .flat()
      .find((it) => it?.family === 'IPv4' && !it.internal)?.address ?? '192.168.1.2'
  const wrong: [name: string, host: (port: string) => string][] = [
    ['another name (DNS rebinding)', (port) => `evil.example:${port}`],
    ['a name that begins like ours', (port) => `127.0.0.1.evil.example:${port}`],
    ['a name that ends like ours', (port) => `evil.localhost:${port}`],
    ['the wrong port', () => '127.0.0.1:1'],
    ['no port', () => '127.0.0.1'],
    ['a dot at the end', (port) => `localhost.:${port}`],
    ['a dot at the end of an address', (port) => `127.0.0.1.:${port}`],
    ['the any address', (port) => `0.0.0.0:${port}`],
    ['the address on the local network', (port) => `${lan}:${port}`],
    ['another spelling of the address', (port) => `127.1:${port}`],
    ['the other family', (port) => `[::1]:${port}`],
    ['a mapped address', (port) => `[::ffff:127.0.0.1]:${port}`],
    ['credentials before it', (port) => `x@127.0.0.1:${port}`],
    ['the port with a zero before it', (port) => `127.0.0.1:0${port}`],
    ['nothing', () => ''],
  ]
  const paths = ['/health', '/', '/api/v1/token', '/api/v1/docs', '/mcp', '/g/x', '/no/such//path']

  for (const at of LISTENERS) {
    for (const [name, host] of wrong)
      test(`${at}: ${name} is refused`, async () => {
        const lines = ['GET /health HTTP/1.1', `Host: ${host(portOf(daemon[at]))}`, CLOSE]
        const { body } = refused(await exchange(daemon[at], lines), 403, 'host_not_allowed')
        const { message } = JSON.parse(body) as { message: string }
        for (const allowed of [hostOf(daemon[at]), `localhost:${portOf(daemon[at])}`])
          assert(message.includes(allowed), message)
      })

    for (const path of paths)
      test(`${at}: a wrong Host is refused before ${path} is looked at`, async () => {
        for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE'])
          refused(
            await exchange(daemon[at], [
              `${method} ${path} HTTP/1.1`,
              'Host: evil.example',
              `Authorization: Bearer ${write}`,
              CLOSE,
            ]),
            403,
            'host_not_allowed',
          )
      })

    test(`${at}: both names of ours are taken`, async () => {
      for (const host of [hostOf(daemon[at]), `localhost:${portOf(daemon[at])}`]) {
        const lines = ['GET /health HTTP/1.1', `Host: ${host}`, CLOSE]
        assert.equal(only(await exchange(daemon[at], lines)).status, 200)
      }
    })
  }

  test('the listeners do not take each other’s Host', async () => {
    for (const [to, as] of [LISTENERS, LISTENERS.toReversed()] as [Listener, Listener][]) {
      const lines = ['GET /health HTTP/1.1', `Host: ${hostOf(daemon[as])}`, CLOSE]
      refused(await exchange(daemon[to], lines), 403, 'host_not_allowed')
    }
  })
})

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
      'an absolute target, before the Host is looked at',
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
      'both lengths, the other way',
      (host) => `${post(host, 'Transfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n${inner}`,
    ],
    ['two lengths', (host) => `${post(host, 'Content-Length: 2', 'Content-Length: 3')}{}x`],
    ['one length twice', (host) => `${post(host, 'Content-Length: 2', 'Content-Length: 2')}{}`],
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
      'a chunk size that is none',
      (host) => `${post(host, 'Transfer-Encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`,
    ],
    [
      'a chunk longer than it says',
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
        // A path of this listener that anybody may post to, so that the body is looked at.
        const sent = at === 'address' ? text : text.replace('/api/v1/token', '/device/v1/session')
        const answers = answersIn(await send(daemon[at], sent))
        const { headers } = refused(answers, 400, 'bad_request')
        assert.equal(headers['connection'], 'close')
      })

  test('bytes that are no request are refused after the answer to the one before them', async () => {
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

  test('each of several requests sent at once is judged', async () => {
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

describe('a client that breaks off', () => {
  const reset = (bytes: string) =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(portOf(daemon.address)), '127.0.0.1', () =>
        socket.write(bytes, () => {
          socket.resetAndDestroy()
          resolve()
        }),
      )
    })
  const starts: [name: string, bytes: string][] = [
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a bad request', 'GET /health\r\n\r\n'],
    ['garbage', '\0\0\0\0'],
    [
      'a declared body',
      `POST /api/v1/token HTTP/1.1\r\nHost: H\r\n${JSON_TYPE}\r\nContent-Length: 9\r\n\r\n{`,
    ],
    ['an answer', 'GET /api/v1/openapi.json HTTP/1.1\r\nHost: H\r\n\r\n'],
    [
      'an Upgrade',
      'GET /health HTTP/1.1\r\nHost: H\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
  ]
  for (const [name, bytes] of starts)
    test(`the daemon outlives a reset after ${name}`, async () => {
      // An error that nobody listens for would end this process, and the test with it.
      for (let i = 0; i < 20; i++)
        await reset(bytes.replace('Host: H', `Host: ${hostOf(daemon.address)}`))
      assert.equal((await daemon.request('GET', '/health')).status, 200)
    })

  test('200 idle connections do not keep an honest request out', async () => {
    const idle = await Promise.all(
      Array.from(
        { length: 200 },
        () =>
          new Promise<ReturnType<typeof connect>>((resolve) => {
            const socket = connect(Number(portOf(daemon.address)), '127.0.0.1', () =>
              resolve(socket),
            )
            socket.on('error', () => undefined)
          }),
      ),
    )
    assert.equal((await daemon.request('GET', '/health')).status, 200)
    for (const socket of idle) socket.destroy()
  })
})

describe('Origin and Fetch Metadata', () => {
  type Case = [name: string, start: string, lines: string[], status: number]
  const api: Case[] = [
    ['no browser', 'GET /health', [], 200],
    ['Node’s fetch', 'GET /health', ['Sec-Fetch-Mode: cors'], 200],
    ['the own page', 'GET /health', ['Origin: SELF', 'Sec-Fetch-Site: same-origin'], 200],
    ['the address bar', 'GET /health', ['Sec-Fetch-Site: none', 'Sec-Fetch-Mode: navigate'], 200],
    ['a page of another origin', 'GET /health', ['Origin: https://evil.example'], 403],
    ['a page without an origin', 'GET /health', ['Origin: null'], 403],
    ['an empty Origin', 'GET /health', ['Origin:'], 403],
    ['another port of this machine', 'GET /health', ['Origin: http://localhost:3000'], 403],
    ['the other name of this machine', 'GET /health', ['Origin: OTHER'], 403],
    ['the own origin with https', 'GET /health', ['Origin: SECURE'], 403],
    ['a path after the own origin', 'GET /health', ['Origin: SELF/'], 403],
    ['two Origins', 'GET /health', ['Origin: SELF', 'Origin: https://evil.example'], 403],
    ['an extension', 'GET /health', ['Origin: chrome-extension://abcdefghijklmnop'], 403],
    ['another site', 'GET /health', ['Sec-Fetch-Site: cross-site'], 403],
    ['another port, by Fetch Metadata', 'GET /health', ['Sec-Fetch-Site: same-site'], 403],
    ['an unknown Sec-Fetch-Site', 'GET /health', ['Sec-Fetch-Site: x'], 403],
    [
      'two Sec-Fetch-Sites',
      'GET /health',
      ['Sec-Fetch-Site: none', 'Sec-Fetch-Site: cross-site'],
      403,
    ],
    [
      'a link to the API',
      'GET /api/v1/status',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    [
      'a link to the docs',
      'GET /api/v1/docs',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      200,
    ],
    [
      'a link to the docs from another port',
      'GET /api/v1/docs',
      ['Sec-Fetch-Site: same-site', 'Sec-Fetch-Mode: navigate'],
      200,
    ],
    [
      'a script that fetches the docs',
      'GET /api/v1/docs',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'],
      403,
    ],
    [
      'a form posted to the docs',
      'POST /api/v1/docs',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    [
      'HEAD of the docs from elsewhere',
      'HEAD /api/v1/docs',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    [
      'a path that only begins like the docs',
      'GET /api/v1/docs.x',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    ['a service worker', 'GET /health', ['Service-Worker: script'], 403],
    [
      'a service worker of the own page',
      'GET /api/v1/docs',
      ['Origin: SELF', 'Service-Worker: script'],
      403,
    ],
    [
      'a preflight',
      'OPTIONS /api/v1/token',
      ['Origin: https://evil.example', 'Access-Control-Request-Method: POST'],
      403,
    ],
    [
      'a preflight for a private network',
      'OPTIONS /api/v1/tags',
      ['Origin: https://evil.example', 'Access-Control-Request-Private-Network: true'],
      403,
    ],
    [
      'minting from the own page',
      'POST /api/v1/token',
      ['Origin: SELF', 'Sec-Fetch-Site: same-origin'],
      403,
    ],
    ['minting with the own Origin alone', 'POST /api/v1/token', ['Origin: SELF'], 403],
    ['minting with Sec-Fetch-Site alone', 'POST /api/v1/token', ['Sec-Fetch-Site: none'], 403],
    ['minting by Node’s fetch', 'POST /api/v1/token', ['Sec-Fetch-Mode: cors'], 201],
    ['minting without a browser', 'POST /api/v1/token', [], 201],
  ]
  const site: Case[] = [
    [
      'a link in a mail',
      'GET /g/x',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      404,
    ],
    [
      'a link to a stamp',
      'GET /s/x',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      404,
    ],
    ['the page’s own script', 'GET /assets/guest.js', ['Sec-Fetch-Site: same-origin'], 200],
    [
      'a script from elsewhere',
      'GET /assets/guest.js',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'],
      403,
    ],
    [
      'a link to a file',
      'GET /s/x/file',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    ['a fetch from elsewhere', 'GET /g/x', ['Origin: https://evil.example'], 403],
    ['a form from elsewhere', 'POST /g/x/opened', ['Origin: https://evil.example'], 403],
    [
      'a form without an origin',
      'POST /g/x/opened',
      ['Origin: null', 'Sec-Fetch-Site: cross-site'],
      403,
    ],
    [
      'a link to what is not a page',
      'GET /device/v1/clock',
      ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
      403,
    ],
    ['a service worker', 'GET /assets/guest.js', ['Service-Worker: script'], 403],
  ]

  for (const [at, cases] of [
    ['address', api],
    ['accountAddress', site],
  ] as const)
    for (const [name, start, lines, status] of cases)
      test(`${at}: ${name} → ${status}`, async () => {
        const host = hostOf(daemon[at])
        const other = `localhost:${portOf(daemon[at])}`
        const sent = lines.map((line) =>
          line
            .replace('SELF', `http://${host}`)
            .replace('OTHER', `http://${other}`)
            .replace('SECURE', `https://${host}`),
        )
        const mints = start === 'POST /api/v1/token'
        const answer = only(
          await exchange(
            daemon[at],
            [
              `${start} HTTP/1.1`,
              `Host: ${host}`,
              CLOSE,
              ...sent,
              ...(mints ? [JSON_TYPE, `Content-Length: ${NEW_TOKEN.length}`] : []),
            ],
            mints ? NEW_TOKEN : '',
          ),
        )
        assert.equal(answer.status, status)
        if (status === 403 && !start.startsWith('HEAD'))
          assert.equal(errorOf(answer), 'origin_not_allowed')
        if (status !== 201) assert(!/csd_/.test(answer.body))
      })

  test('a refused browser has not minted a token', async () => {
    const full = await daemon.token('full')
    const count = async () =>
      (
        (await daemon.request('GET', '/api/v1/api-tokens?limit=200', { token: full })).json as {
          items: []
        }
      ).items.length
    const before = await count()
    for (const lines of [['Origin: https://evil.example'], ['Sec-Fetch-Site: same-origin']])
      await ask1(
        'address',
        (host) => [
          'POST /api/v1/token HTTP/1.1',
          `Host: ${host}`,
          CLOSE,
          JSON_TYPE,
          ...lines,
          `Content-Length: ${NEW_TOKEN.length}`,
        ],
        NEW_TOKEN,
      )
    assert.equal(await count(), before)
  })
})

describe('paths', () => {
  const confusing = [
    '/api/v1/%6frg/members',
    '/api/v1/%6Frg/members',
    '/api/v1/o%72g/members',
    '/api/v1//org/members',
    '//api/v1/org/members',
    '/api/v1/./org/members',
    '/api/v1/tags/../org/members',
    '/api/v1/tags/%2e%2e/org/members',
    '/api/v1/tags/..%2forg/members',
    '/api/v1/tags%2f..%2forg/members',
    '/api/v1/org;x/members',
    '/api/v1/org/members;x',
    '/api/v1/tags;/../org/members',
    '/api/v1\\org\\members',
    '/api/v1/org%5cmembers',
    '/api/v1/org%2fmembers',
    '/api/v1/ORG/members',
    '/API/v1/org/members',
    '/api/v1/Org/members',
    '/api/v1/org/members/',
    '/api/v1/org/',
    '/api/v1/org%00/members',
    '/api/v1/org%20/members',
    '/api/v1/org+/members',
    '/api/v1/ørg/members',
    '/api/v1/org/members#x',
    '/api/v1/org/members%3fx',
    '/api/v1/%00/org/members',
    '/api/v1/tags/%2e%2e%2forg%2fmembers',
    '/./api/v1/org/members',
    '/../api/v1/org/members',
    '/api/v1/org./members',
    '/api/v1/org~/members',
    '/api/v1/api-tokens/',
    '/api/v1/%61pi-tokens',
    '/api/v1/api%2dtokens',
    '/api/v1//api-tokens',
    '/api/v1/API-TOKENS',
    '/api/v1/x/../api-tokens',
  ]
  for (const path of confusing)
    test(`a write token gets nothing at ${path}`, async () => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const lines = [
          `${method} ${path} HTTP/1.1`,
          `Host: ${hostOf(daemon.address)}`,
          `Authorization: Bearer ${write}`,
          CLOSE,
        ]
        const answer = only(
          answersIn(await send(daemon.address, Buffer.from(`${lines.join('\r\n')}\r\n\r\n`))),
        )
        assert(answer.status === 400 || answer.status === 404, `${method}: ${answer.status}`)
      }
    })

  test('the token route has one spelling', async () => {
    for (const path of [
      '/api/v1/%74oken',
      '/api/v1/token/',
      '/api//v1/token',
      '/api/v1/Token',
      '/api/v1/./token',
    ]) {
      const answers = await ask1(
        'address',
        (host) => [
          `POST ${path} HTTP/1.1`,
          `Host: ${host}`,
          'Origin: null',
          CLOSE,
          JSON_TYPE,
          `Content-Length: ${NEW_TOKEN.length}`,
        ],
        NEW_TOKEN,
      )
      refused(answers, 403, 'origin_not_allowed')
      const { status } = await daemon.request('POST', path, { body: NEW_TOKEN })
      assert(status === 400 || status === 401, `${path}: ${status}`)
    }
  })
})

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
    ['GET', '/', false, 401],
    ['GET', '/', true, 404],
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

  test('TRACE never gives back what was sent', async () => {
    const [answer] = await at('/api/v1/status', 'TRACE', write)
    assert(!answer?.body.includes(write))
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
      // Times in the body may change its length by a digit; the docs' never do.
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
      test(`${listener}: Upgrade to ${name} is not taken up`, async () => {
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

describe('Expect', () => {
  const post = (lines: string[], host?: string, body = '') =>
    ask1(
      'address',
      (own) => ['POST /api/v1/token HTTP/1.1', `Host: ${host ?? own}`, ...lines],
      body,
    )
  const CONTINUE = 'Expect: 100-continue'

  test('an unknown expectation → 417, after the guard', async () => {
    for (const at of LISTENERS) {
      const lines = (host: string) => [
        'POST /health HTTP/1.1',
        `Host: ${host}`,
        'Expect: x',
        'Content-Length: 2',
      ]
      refused(await ask1(at, lines), 417, 'expectation_failed')
      refused(await ask1(at, () => lines('evil.example')), 403, 'host_not_allowed')
      refused(await ask1(at, (host) => [...lines(host), 'Origin: null']), 403, 'origin_not_allowed')
    }
  })

  // `only` and `refused` count every answer, so a 100 would show.
  test('no 100 before the guard', async () => {
    refused(
      await post([CONTINUE, JSON_TYPE, 'Content-Length: 2'], 'evil.example'),
      403,
      'host_not_allowed',
    )
    refused(
      await post([CONTINUE, JSON_TYPE, 'Content-Length: 2', 'Origin: null']),
      403,
      'origin_not_allowed',
    )
  })

  test('no 100 for a body that is not wanted', async () => {
    refused(
      await post([CONTINUE, 'Content-Type: text/plain', 'Content-Length: 2']),
      415,
      'unsupported_media_type',
    )
    refused(await post([CONTINUE, JSON_TYPE, 'Content-Length: 1048577']), 413, 'payload_too_large')
    const lines = (start: string) => (host: string) => [
      start,
      `Host: ${host}`,
      CONTINUE,
      JSON_TYPE,
      'Content-Length: 2',
    ]
    refused(await ask1('address', lines('POST /api/v1/connections HTTP/1.1')), 401, 'unauthorized')
    refused(await ask1('address', lines('POST /health HTTP/1.1')), 405, 'method_not_allowed')
    assert.equal(
      only(await ask1('address', (host) => [...lines('GET /health HTTP/1.1')(host), CLOSE], '{}'))
        .status,
      200,
    )
  })

  test('100 for one that is', async () => {
    const answers = await post(
      [CONTINUE, CLOSE, JSON_TYPE, `Content-Length: ${NEW_TOKEN.length}`],
      undefined,
      NEW_TOKEN,
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [100, 201],
    )
  })
})

describe('bodies', () => {
  const post = (lines: string[], body: string | Uint8Array = '') =>
    Promise.resolve(Buffer.from(body)).then(async (bytes) => {
      const head = [
        'POST /api/v1/token HTTP/1.1',
        `Host: ${hostOf(daemon.address)}`,
        CLOSE,
        ...lines,
      ]
      return answersIn(
        await send(
          daemon.address,
          Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]),
        ),
      )
    })
  const sized = (type: string[], body: string | Uint8Array) =>
    post([...type, `Content-Length: ${Buffer.byteLength(body)}`], body)

  test('a body declared too large → 413, unread', async () => {
    refused(await post([JSON_TYPE, 'Content-Length: 1048577']), 413, 'payload_too_large')
  })

  test('a chunked body that grows too large → 413', async () => {
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    refused(
      await post([JSON_TYPE, 'Transfer-Encoding: chunked'], chunk.repeat(17)),
      413,
      'payload_too_large',
    )
  })

  test('the largest body is taken', async () => {
    const body = NEW_TOKEN.padEnd(1_048_576)
    assert.equal(only(await sized([JSON_TYPE], body)).status, 201)
    assert.equal(
      only(await post([JSON_TYPE, 'Transfer-Encoding: chunked'], `100000\r\n${body}\r\n0\r\n\r\n`))
        .status,
      201,
    )
  })

  test('a stamp may be larger', async () => {
    const body = JSON.stringify({ content: 'a'.repeat(2_000_000) })
    const { status } = await daemon.request('POST', '/api/v1/stamp', { token: write, body })
    assert.equal(status, 201)
    const lines = (host: string) => [
      'POST /api/v1/stamp HTTP/1.1',
      `Host: ${host}`,
      `Authorization: Bearer ${write}`,
      JSON_TYPE,
      'Content-Length: 12582913',
    ]
    refused(await ask1('address', lines), 413, 'payload_too_large')
  })

  const types: [type: string[], taken: boolean][] = [
    [[JSON_TYPE], true],
    [['content-type: APPLICATION/JSON'], true],
    [['Content-Type: application/json;charset=utf-8'], true],
    [['Content-Type: application/json; charset=UTF-8'], true],
    [['Content-Type: application/json; charset="utf-8"'], true],
    [[], false],
    [['Content-Type:'], false],
    [['Content-Type: text/plain'], false],
    [['Content-Type: text/plain; x=application/json'], false],
    [['Content-Type: application/x-www-form-urlencoded'], false],
    [['Content-Type: multipart/form-data; boundary=x'], false],
    [['Content-Type: application/json, text/plain'], false],
    [['Content-Type: application/jsonp'], false],
    [['Content-Type: application/vnd.x+json'], false],
    [['Content-Type: application/json; charset=utf-16'], false],
    [['Content-Type: application/json; charset=iso-8859-1'], false],
    [['Content-Type: application/json; charset=utf-8; charset=utf-16'], false],
    [[JSON_TYPE, 'Content-Encoding: gzip'], false],
    [[JSON_TYPE, 'Content-Encoding: identity'], false],
  ]
  for (const [type, taken] of types)
    test(`${type.join(' and ') || 'no Content-Type'} → ${taken ? 201 : 415}`, async () => {
      const answers = await sized(type, NEW_TOKEN)
      if (taken) assert.equal(only(answers).status, 201)
      else refused(answers, 415, 'unsupported_media_type')
    })

  const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`
  const invalid: [name: string, body: string | Uint8Array][] = [
    ['nothing but space', ' '],
    ['half an object', '{"name":"n"'],
    ['a trailing comma', '{"name":"n",}'],
    ['a comment', '{"name":"n"/*x*/}'],
    ['single quotes', "{'name':'n'}"],
    ['two values', `${NEW_TOKEN}${NEW_TOKEN}`],
    ['NaN', '{"name":NaN}'],
    ['a control character in a string', '{"name":"a\nb"}'],
    ['a form', 'name=n&scope=read'],
    ['invalid UTF-8', Buffer.from('{"name":"\xff","scope":"read"}', 'latin1')],
    ['an overlong slash', Buffer.from('{"name":"\xc0\xaf","scope":"read"}', 'latin1')],
    ['an encoded surrogate', Buffer.from('{"name":"\xed\xa0\x80","scope":"read"}', 'latin1')],
    ['UTF-16', Buffer.from(NEW_TOKEN, 'utf16le')],
    ['a byte order mark', `\ufeff${NEW_TOKEN}`],
    ['33 levels', `[${nested(32)}]`],
    ['a million levels', '['.repeat(1_000_000)],
    ['a million closed levels', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    ['__proto__', '{"__proto__":{"scope":"full"},"name":"n","scope":"read"}'],
    ['__proto__ further in', '{"name":{"a":[{"__proto__":1}]},"scope":"read"}'],
    ['__proto__ in escapes', '{"\\u005f_proto__":1,"name":"n","scope":"read"}'],
    ['a name twice', '{"name":"n","scope":"read","scope":"full"}'],
    ['a name twice in two spellings', '{"name":"n","scope":"read","\\u0073cope" : "full"}'],
    ['a name twice further in', '{"name":[{"a":1,"b":"x,\\"}","a":2}],"scope":"read"}'],
  ]
  for (const [name, body] of invalid)
    test(`${name} is no JSON of ours → 400`, async () => {
      const { message } = JSON.parse(
        refused(await sized([JSON_TYPE], body), 400, 'invalid_json').body,
      ) as { message: string }
      assert(message.length < 200, message)
    })

  const valid: [name: string, body: string][] = [
    ['32 levels', nested(32)],
    ['names that are equal in different objects', '{"name":[{"a":1},{"a":2,"b":{"a":"a"}}]}'],
    [
      'texts that look like names',
      '{"name":["a","a","__proto__","\\\\",":"],"scope":"{\\"a\\":1,\\"a\\":2}"}',
    ],
    ['an escaped quote before a colon', '{"name":"\\":{","scope":5}'],
    ['a backslash before a quote', '{"name":"\\\\","scope":"\\"\\\\\\""}'],
    ['null', 'null'],
    ['a number', '1'],
  ]
  for (const [name, body] of valid)
    test(`${name}: JSON, but not valid here → 422`, async () => {
      refused(await sized([JSON_TYPE], body), 422, 'validation_failed')
    })

  test('constructor and prototype are names like any other', async () => {
    const { json } = await daemon.request('POST', '/api/v1/token', {
      body: '{"constructor":{"prototype":{"scope":"full"}},"name":"n","scope":"read"}',
    })
    assert.equal((json as { error: string }).error, 'validation_failed')
    assert.equal(({} as { scope?: string }).scope, undefined)
  })
})

describe('tokens', () => {
  const strip = (answer: string) => answer.replace(/X-Request-Id: .*\r\n|Date: .*\r\n/g, '')
  const withToken = (value: string, path = '/api/v1/status') =>
    send(
      daemon.address,
      `GET ${path} HTTP/1.1\r\nHost: ${hostOf(daemon.address)}\r\nAuthorization: ${value}\r\n${CLOSE}\r\n\r\n`,
    )

  test('an unknown and a revoked token get the same bytes', async () => {
    const full = await daemon.token('full')
    const { json } = await daemon.request('POST', '/api/v1/api-tokens', {
      token: full,
      body: { name: 'gone', scope: 'read' },
    })
    const gone = json as { id: string; token: string }
    assert.match(await withToken(`Bearer ${gone.token}`), /^HTTP\/1.1 200 /)
    assert.equal(
      (await daemon.request('DELETE', `/api/v1/api-tokens/${gone.id}`, { token: full })).status,
      204,
    )
    const revoked = strip(await withToken(`Bearer ${gone.token}`))
    assert.match(revoked, /^HTTP\/1.1 401 /)
    for (const unknown of [
      `csd_${'0'.repeat(36)}`,
      gone.token.slice(0, -1),
      'x',
      'ä',
      `${gone.token} x`,
    ])
      assert.equal(strip(await withToken(`Bearer ${unknown}`)), revoked, unknown)
  })

  const spellings: [value: (token: string) => string, status: number, error?: string][] = [
    [(token) => `Bearer ${token}`, 200],
    [(token) => `bearer ${token}`, 200],
    [(token) => `BEARER   ${token}  `, 200],
    [(token) => `Bearer "${token}"`, 401, 'invalid_token'],
    [(token) => `Bearer ${token},${token}`, 401, 'invalid_token'],
    [(token) => `Bearer ${token.toUpperCase()}`, 401, 'invalid_token'],
    [(token) => `Bearer\t${token}`, 401, 'unauthorized'],
    [(token) => `Bearer${token}`, 401, 'unauthorized'],
    [() => 'Bearer', 401, 'unauthorized'],
    [() => 'Bearer ', 401, 'unauthorized'],
    [(token) => token, 401, 'unauthorized'],
    [(token) => `Basic ${btoa(`x:${token}`)}`, 401, 'unauthorized'],
    [(token) => `Token ${token}`, 401, 'unauthorized'],
    [(token) => `DPoP ${token}`, 401, 'unauthorized'],
  ]
  for (const [value, status, error] of spellings)
    test(`Authorization: ${value('T')} → ${status} ${error ?? ''}`, async () => {
      const answer = only(answersIn(await withToken(value(write))))
      assert.equal(answer.status, status)
      if (error === undefined) return
      assert.equal(errorOf(answer), error)
      assert.equal(
        answer.headers['www-authenticate'],
        error === 'unauthorized' ? 'Bearer' : 'Bearer error="invalid_token"',
      )
      // A public route does not look at it.
      assert.equal(only(answersIn(await withToken(value(write), '/health'))).status, 200)
    })

  test('a token counts in the Authorization header alone', async () => {
    for (const [path, headers] of [
      [`/api/v1/status?access_token=${write}`, {}],
      ['/api/v1/status', { Cookie: `token=${write}` }],
      ['/api/v1/status', { 'X-Api-Key': write }],
      ['/api/v1/status', { 'Proxy-Authorization': `Bearer ${write}` }],
    ] as [string, Record<string, string>][])
      assert.equal((await daemon.request('GET', path, { headers })).status, 401)
  })

  test('the account server takes no bare token of the daemon', async () => {
    for (const path of ['/device/v1/rosters/x', '/api/v1/connections', '/nope']) {
      const { status, json } = await ask(daemon.accountAddress, 'GET', path, { token: write })
      assert.equal(`${status} ${(json as { error: string }).error}`, '401 invalid_token')
    }
  })
})

test('three words cannot be guessed: after 20 wrong tries, whoever makes them, 429', async () => {
  const tokens = [write, await daemon.token('full'), await daemon.token('write')]
  const body = { words: 'matador carload recede' }
  for (let tries = 1; ; tries++) {
    const token = tokens[tries % 3]
    const { status, json, headers } = await daemon.request('POST', '/api/v1/verify', {
      token,
      body,
    })
    if (status === 200) {
      // Twice as many where a minute ends meanwhile.
      assert(tries <= 40, 'no limit')
      continue
    }
    assert.equal(`${status} ${(json as { error: string }).error}`, '429 rate_limited')
    assert(tries > 20, `refused at try ${tries}`)
    assert.match(headers['retry-after'] ?? '', /^[1-9]\d?$/)
    break
  }
})

describe(
  'the token route and other users of this machine',
  { skip: process.platform !== 'linux' && 'Linux only' },
  () => {
    const NOBODY = 65_534
    const mint = (address: string) =>
      [
        `POST /api/v1/token HTTP/1.1`,
        `Host: ${hostOf(address)}`,
        CLOSE,
        JSON_TYPE,
        `Content-Length: ${NEW_TOKEN.length}`,
        '',
        NEW_TOKEN,
      ].join('\r\n')

    /** What a process of another user is answered. */
    async function asNobody(address: string, path: string, body?: string): Promise<string> {
      const script = `
      const [, address, path, body] = process.argv
      const headers = { 'Content-Type': 'application/json' }
      const req = require('node:http').request(address + path, { method: body ? 'POST' : 'GET', headers }, (res) => {
        process.stdout.write(res.statusCode + ' ')
        res.pipe(process.stdout)
      })
      req.end(body)`
      const args = ['-e', script, address, path, ...(body === undefined ? [] : [body])]
      const child = spawn(process.execPath, args, { uid: NOBODY, gid: NOBODY, cwd: '/', env: {} })
      child.stdout.setEncoding('utf8')
      let text = ''
      child.stdout.on('data', (chunk: string) => (text += chunk))
      await once(child, 'close')
      return text
    }
    const asRoot = { skip: process.getuid?.() !== 0 && 'needs root' }

    test('another user → 403 peer_not_allowed', asRoot, async () => {
      const text = await asNobody(daemon.address, '/api/v1/token', NEW_TOKEN)
      assert.match(text, /^403 .*"peer_not_allowed"/)
      assert(!text.includes('csd_'))
    })

    test('another user may ask everything else', asRoot, async () => {
      assert.match(await asNobody(daemon.address, '/health'), /^200 /)
      assert.match(await asNobody(daemon.address, '/api/v1/status'), /^401 /)
    })

    test('SVC_TOKEN_USERS lets others in', asRoot, async () => {
      for (const users of [String(NOBODY), 'daemon,nobody', 'any']) {
        const open = await startDaemon({ SVC_TOKEN_USERS: users })
        assert.match(await asNobody(open.address, '/api/v1/token', NEW_TOKEN), /^201 .*csd_/)
        await open.close()
      }
    })

    test('a client that speaks IPv4 through an IPv6 socket, as Java does, is known', async () => {
      const socket = connect({ host: '::ffff:127.0.0.1', port: Number(portOf(daemon.address)) })
      const chunks: Buffer[] = []
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.write(mint(daemon.address))
      await once(socket, 'close')
      assert.equal(only(answersIn(Buffer.concat(chunks).toString())).status, 201)
    })

    for (const how of ['half-closed', 'closed'] as const)
      test(`a client that has ${how} its socket gets no token`, async () => {
        const full = await daemon.token('full')
        const count = async () => {
          const { json } = await daemon.request('GET', '/api/v1/api-tokens?limit=200', {
            token: full,
          })
          return (json as { items: unknown[] }).items.length
        }
        const before = await count()
        // This thread, and with it the daemon, waits until the client of the other thread has closed.
        const flag = new Int32Array(new SharedArrayBuffer(4))
        const script = `
        const { workerData: { flag, port, bytes, how }, parentPort } = require('node:worker_threads')
        const raise = () => { Atomics.store(flag, 0, 1); Atomics.notify(flag, 0) }
        let text = ''
        const socket = require('node:net').connect({ port, host: '127.0.0.1', allowHalfOpen: true })
        socket.on('data', (chunk) => (text += chunk))
        socket.on('end', () => socket.destroy())
        socket.on('close', () => { raise(); parentPort.postMessage(text) })
        socket.end(bytes, () => (how === 'closed' ? socket.destroy() : raise()))`
        const worker = new Worker(script, {
          eval: true,
          workerData: {
            flag,
            port: Number(portOf(daemon.address)),
            bytes: mint(daemon.address),
            how,
          },
        })
        const answer = once(worker, 'message')
        assert.equal(Atomics.wait(flag, 0, 0, 10_000), 'ok')
        const [text] = (await answer) as [string]
        if (how === 'half-closed') refused(answersIn(text), 403, 'peer_not_allowed')
        assert.equal(await count(), before)
      })
  },
)
