/**
 * The client of the assistant against a real server. The server answers correctly, wrongly, or
 * not at all; an unsafe key is never sent, and no key appears in errors or logs.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, after, before, describe, test } from 'node:test'
import { inspect } from 'node:util'
import type { AssistantConfig } from '../../../src/config/assistant.ts'
import { AppError, type ErrorCode } from '../../../src/errors.ts'
import { PATIENCE, type Patience, newAssistant } from '../../../src/service/assistant/assistant.ts'
import {
  type Endpoint,
  type Speaker,
  LAST,
  begins,
  delta,
  says,
  startEndpoint,
} from '../endpoint.ts'

const KEY = 'sk-canary-0123456789'
const QUESTION = [{ role: 'user' as const, content: 'question-canary' }]
const nothing = { onChunk: () => undefined, whole: () => true, ended: async () => undefined }

let folder: string
let keyFile: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-assistant-'))
  keyFile = join(folder, 'key')
  writeFileSync(keyFile, `${KEY}\n`, { mode: 0o600 })
})
after(() => rmSync(folder, { recursive: true }))

/** Opens a client of an endpoint that answers with `speak`. */
async function open(
  t: TestContext,
  speak?: Speaker,
  more: { config?: Partial<AssistantConfig>; patience?: Partial<Patience> } = {},
) {
  const endpoint = await startEndpoint(speak)
  t.after(() => endpoint.close())
  const config = { url: endpoint.url, keyFile, model: 'm-1', ...more.config }
  const assistant = newAssistant(config, { ...PATIENCE, ...more.patience })
  const ask = () => assistant.ask(QUESTION, nothing)
  return { endpoint, assistant, ask }
}

const all = async (body: AsyncIterable<Uint8Array>) => {
  const chunks = []
  for await (const bytes of body) chunks.push(bytes)
  return Buffer.concat(chunks).toString()
}

/**
 * Checks that a call is rejected with this code. Neither the error nor the log may have the key,
 * the question or the answer.
 */
const fails = (promise: Promise<unknown>, code: ErrorCode, inLog: RegExp) =>
  assert.rejects(promise, (error: unknown) => {
    assert(error instanceof AppError, inspect(error))
    assert.equal(error.code, code, inspect(error))
    assert.match(error.message, /^The assistant /)
    const log = inspect(error, { depth: null })
    assert.match(log, inLog)
    assert.doesNotMatch(log, /canary/)
    return true
  })

test('sends the question in the format of the API and returns the answer unchanged', async (t) => {
  const { endpoint, ask } = await open(t, says('Hel', 'lo.'))
  assert.equal(await all((await ask()).body), delta('Hel') + delta('lo.') + LAST)
  const [{ method, path, headers, body }] = endpoint.asked as [Endpoint['asked'][number]]
  assert.deepEqual([method, path], ['POST', '/v1/chat/completions'])
  assert.deepEqual(JSON.parse(body), { model: 'm-1', messages: QUESTION, stream: true })
  assert.equal(headers.authorization, `Bearer ${KEY}`)
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(headers['accept-encoding'], 'identity')
})

test('passes each piece on before the next is sent', async (t) => {
  let res!: ServerResponse
  const { ask } = await open(t, (answer) => {
    res = begins(answer)
    res.write(delta('one'))
  })
  const reader = (await ask()).body[Symbol.asyncIterator]()
  assert.equal(Buffer.from((await reader.next()).value!).toString(), delta('one'))
  res.write('data: {"ha')
  assert.equal(Buffer.from((await reader.next()).value!).toString(), 'data: {"ha')
  res.end('lf"}\n\n')
  assert.equal(Buffer.from((await reader.next()).value!).toString(), 'lf"}\n\n')
  assert.equal((await reader.next()).done, true)
})

describe('rejects an invalid answer', () => {
  const html =
    (status: number): Speaker =>
    (res) =>
      res
        .writeHead(status, { 'Content-Type': 'text/html' })
        .end('<html>sk-canary question-canary</html>')
  const cases: [name: string, speak: Speaker, code: ErrorCode, inLog: RegExp][] = [
    ['401', html(401), 'backend_error', /answered 401.*SVC_ASSISTANT_KEY_FILE/],
    ['403', html(403), 'backend_error', /answered 403/],
    ['400', html(400), 'backend_error', /answered 400/],
    ['404', html(404), 'backend_error', /answered 404.*SVC_ASSISTANT_URL/],
    ['408', html(408), 'backend_timeout', /answered 408/],
    ['429', html(429), 'backend_unavailable', /answered 429/],
    ['500', html(500), 'backend_unavailable', /answered 500/],
    ['503', html(503), 'backend_unavailable', /answered 503/],
    ['504', html(504), 'backend_timeout', /answered 504/],
    ['200 with HTML', html(200), 'backend_error', /event stream/],
    [
      '201',
      (res) => void res.writeHead(201, { 'Content-Type': 'text/event-stream' }).end(LAST),
      'backend_error',
      /answered 201/,
    ],
    [
      'complete JSON',
      (res) =>
        void res.writeHead(200, { 'Content-Type': 'application/json' }).end('{"choices":[]}'),
      'backend_error',
      /event stream/,
    ],
    [
      'compressed',
      (res) =>
        void res
          .writeHead(200, { 'Content-Type': 'text/event-stream', 'Content-Encoding': 'gzip' })
          .end('canary'),
      'backend_error',
      /compressed/,
    ],
    ['no bytes', (res) => void begins(res).end(), 'backend_error', /closed the connection/],
    [
      'a connection closed before the head',
      (res) => void res.socket!.destroy(),
      'backend_unavailable',
      /ECONNRESET/,
    ],
    [
      'a connection closed after the head',
      (res) => {
        begins(res).flushHeaders()
        res.socket!.end()
      },
      'backend_error',
      /closed the connection/,
    ],
    ['no HTTP', (res) => void res.socket!.end('canary\r\n\r\n'), 'backend_error', /HPE_/],
  ]
  for (const [name, speak, code, inLog] of cases)
    test(name, async (t) => {
      const { ask, endpoint } = await open(t, speak)
      await fails(ask(), code, inLog)
      assert.equal(endpoint.asked.length, 1, 'it is asked once')
    })

  for (const status of [301, 302, 307, 308])
    test(`does not follow a redirect (${status}), and does not send the key there`, async (t) => {
      const elsewhere = await startEndpoint()
      t.after(() => elsewhere.close())
      const Location = `${elsewhere.url}/chat/completions`
      const { ask } = await open(t, (res) => res.writeHead(status, { Location }).end())
      await fails(ask(), 'backend_error', /Redirects are not followed/)
      assert.equal(elsewhere.asked.length, 0)
    })

  test('an endpoint that is not running', async (t) => {
    const { ask, endpoint } = await open(t)
    endpoint.close()
    await fails(ask(), 'backend_unavailable', /ECONNREFUSED/)
  })
})

describe('silence', () => {
  const patience = { firstMs: 60, silenceMs: 60 }
  const silent: [name: string, speak: Speaker][] = [
    ['no head', () => undefined],
    ['no bytes', (res) => begins(res).flushHeaders()],
  ]
  for (const [name, speak] of silent)
    test(name, async (t) => {
      const { ask, endpoint } = await open(t, speak, {
        patience: { ...patience, silenceMs: 60_000 },
      })
      await fails(ask(), 'backend_timeout', /did not answer in time/)
      assert.equal(endpoint.asked.length, 1)
    })

  test('after a part of the answer: that part was passed on, and the connection is closed', async (t) => {
    const gone = Promise.withResolvers<void>()
    const { ask } = await open(
      t,
      (res) => {
        res.once('close', () => gone.resolve())
        begins(res).write(delta('half'))
      },
      { patience },
    )
    const text = await all((await ask()).body)
    assert(text.startsWith(delta('half')))
    assert.match(text, /\n\nevent: error\ndata: \{"error":"backend_timeout","message":".*"\}\n\n$/)
    await gone.promise
  })
})

describe('an answer that breaks off', () => {
  const middles: [name: string, act: (res: ServerResponse) => unknown][] = [
    ['because the socket is destroyed', (res) => res.socket!.destroy()],
    ['because the socket is reset', (res) => res.socket!.resetAndDestroy()],
    ['because a chunk is malformed', (res) => res.socket!.end('zz\r\n')],
  ]
  for (const [name, act] of middles)
    test(name, async (t) => {
      const { endpoint, ask } = await open(t)
      const read = Promise.withResolvers<void>()
      endpoint.speak = async (res) => {
        begins(res).write(`${delta('half')}data: {"cho`)
        await read.promise
        act(res)
      }
      const reader = (await ask()).body[Symbol.asyncIterator]()
      const first = await reader.next()
      assert.equal(Buffer.from(first.value!).toString(), `${delta('half')}data: {"cho`)
      read.resolve()
      const last = Buffer.from((await reader.next()).value!).toString()
      assert.match(last, /^\n\nevent: error\ndata: \{"error":"backend_error","message":".*"\}\n\n$/)
      assert.equal((await reader.next()).done, true)
    })

  test('cancels the request when the reader leaves', async (t) => {
    const gone = Promise.withResolvers<void>()
    const { ask } = await open(t, (res) => {
      res.once('close', () => gone.resolve())
      begins(res).write(delta('half'))
    })
    const reader = (await ask()).body[Symbol.asyncIterator]()
    await reader.next()
    const waits = reader.next()
    await reader.return!()
    await gone.promise
    assert.equal((await waits).done, true)
  })
})

describe('the key of the endpoint', () => {
  const bad: [name: string, make: (path: string) => void][] = [
    ['is missing', () => undefined],
    ['is a folder', (path) => mkdirSync(path, { mode: 0o700 })],
    [
      'is readable by others',
      (path) => {
        writeFileSync(path, KEY)
        chmodSync(path, 0o644)
      },
    ],
    ['is a link', (path) => symlinkSync(keyFile, path)],
    ['is empty', (path) => writeFileSync(path, '\n', { mode: 0o600 })],
    ['has two lines', (path) => writeFileSync(path, `${KEY}\nX: ${KEY}`, { mode: 0o600 })],
  ]
  for (const [at, [name, make]] of bad.entries())
    test(`is not sent if its file ${name}`, async (t) => {
      const path = join(folder, `bad-${at}`)
      make(path)
      const { ask, endpoint } = await open(t, undefined, { config: { keyFile: path } })
      await fails(ask(), 'backend_error', /./)
      assert.equal(endpoint.asked.length, 0)
    })

  test('is not sent without a valid certificate, in any environment', async (t) => {
    const made = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.pem'
    const about = '-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -days 2'
    execFileSync('openssl', `req -x509 ${made} ${about}`.split(' '), { stdio: 'pipe', cwd: folder })
    let asked = 0
    const pem = (name: string) => readFileSync(join(folder, name))
    const server = createServer({ key: pem('tls.key'), cert: pem('tls.pem') }, (_, res) => {
      asked++
      says('Hello.')(res, { method: '', path: '', headers: {}, body: '' })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { NODE_TLS_REJECT_UNAUTHORIZED: before } = process.env
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    t.after(() => {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    })
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    const { ask } = await open(t, undefined, { config: { url } })
    await fails(ask(), 'backend_unavailable', /DEPTH_ZERO_SELF_SIGNED_CERT/)
    assert.equal(asked, 0)
  })

  test('is read again for each question', async (t) => {
    const path = join(folder, 'turning')
    const { ask, endpoint } = await open(t, undefined, { config: { keyFile: path } })
    for (const key of ['one', 'two']) {
      writeFileSync(path, key, { mode: 0o600 })
      await all((await ask()).body)
    }
    assert.deepEqual(
      endpoint.asked.map(({ headers }) => headers.authorization),
      ['Bearer one', 'Bearer two'],
    )
  })

  test('can be omitted', async (t) => {
    const { ask, endpoint } = await open(t, undefined, { config: { keyFile: null } })
    await all((await ask()).body)
    assert.equal(endpoint.asked[0]?.headers.authorization, undefined)
  })
})

describe('the model', () => {
  const lists =
    (body: string): Speaker =>
    (res, asked) =>
      asked.path === '/v1/models'
        ? res.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
        : says('Hello.')(res, asked)
  const config = { model: null }

  test('is the first in the endpoint’s list, fetched once', async (t) => {
    const { ask, endpoint } = await open(t, lists('{"data":[{"id":"m-7"},{"id":"m-8"}]}'), {
      config,
    })
    for (let i = 0; i < 2; i++) await all((await ask()).body)
    assert.deepEqual(
      endpoint.asked.map(({ method, path }) => `${method} ${path}`),
      ['GET /v1/models', 'POST /v1/chat/completions', 'POST /v1/chat/completions'],
    )
    assert.equal(endpoint.asked[0]?.headers.authorization, `Bearer ${KEY}`)
    assert.equal((JSON.parse(endpoint.asked[2]!.body) as { model: string }).model, 'm-7')
  })

  test('is looked up again if the endpoint no longer has it', async (t) => {
    const { ask, endpoint } = await open(t, lists('{"data":[{"id":"m-7"}]}'), { config })
    await all((await ask()).body)
    endpoint.speak = (res) => res.writeHead(404).end()
    await fails(ask(), 'backend_error', /404/)
    endpoint.speak = lists('{"data":[{"id":"m-9"}]}')
    await all((await ask()).body)
    assert.equal((JSON.parse(endpoint.asked.at(-1)!.body) as { model: string }).model, 'm-9')
  })

  for (const body of [
    '',
    'canary',
    '{}',
    '{"data":[]}',
    '{"data":[{"id":""}]}',
    '[]',
    `{"data":[{"id":"${'x'.repeat(300)}"}]}`,
  ])
    test(`a list without a model is rejected: ${body.slice(0, 30)}`, async (t) => {
      const { ask } = await open(t, lists(body), { config })
      await fails(
        ask(),
        'backend_error',
        body === '' ? /closed the connection/ : /SVC_ASSISTANT_MODEL/,
      )
    })

  test('is not awaited without a limit', async (t) => {
    const { ask } = await open(t, () => undefined, { config, patience: { firstMs: 60 } })
    await fails(ask(), 'backend_timeout', /in time/)
  })
})
