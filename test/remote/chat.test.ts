/**
 * The assistant from end to end: a caller, a daemon, a remote or embedded account server, and a
 * real endpoint. Bytes arrive as they are sent, each break has a clear end, and the endpoint
 * learns when the caller leaves.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type IncomingMessage, type ServerResponse, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, after, before, describe, test } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { type TestServer, startAccountServer } from '../account-server.ts'
import { login } from '../e2e/servers.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { type Endpoint, LAST, begins, delta, startEndpoint } from '../service/endpoint.ts'

const KEY = 'sk-canary-0123456789'
const ERROR = /\n\nevent: error\ndata: \{"error":"(\w+)","message":"[^"]+"\}\n\n$/

/** Answers without an end until the request is closed: a silent endpoint would be left. */
async function endless(res: ServerResponse): Promise<void> {
  begins(res).write(delta('half'))
  const beat = setInterval(() => res.write(': still here\n\n'), 1_000)
  await once(res, 'close')
  clearInterval(beat)
}

/** Requests an answer and returns a reader of it. */
async function turn(daemon: TestDaemon, token: string, body: unknown) {
  const { hostname, port } = new URL(daemon.address)
  const text = JSON.stringify(body)
  const req = request({
    hostname,
    port,
    method: 'POST',
    path: rest.chat.turn.path,
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
    },
  })
  req.end(text)
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  const reader = res[Symbol.asyncIterator]()
  return {
    req,
    res,
    /** Returns the next piece; null at a clean end. Throws if the connection is cut. */
    next: async (): Promise<string | null> => {
      const { done, value } = await reader.next()
      return done === true ? null : (value as Buffer).toString()
    },
    rest: async (): Promise<string> => {
      let all = ''
      for (;;) {
        const { done, value } = await reader.next()
        if (done === true) return all
        all += (value as Buffer).toString()
      }
    },
  }
}

interface Scene {
  readonly daemon: TestDaemon
  readonly token: string
  /** All log lines so far, of every process. */
  readonly log: () => string
}

/** The tests that hold for an embedded and a remote account server. */
function fromEndToEnd(endpointOf: () => Endpoint, sceneOf: () => Scene) {
  test('each piece arrives before the next is sent', async () => {
    const { daemon, token } = sceneOf()
    const endpoint = endpointOf()
    let upstream!: ServerResponse
    endpoint.speak = (res) => {
      upstream = begins(res)
      upstream.write(delta('one'))
    }
    const { res, next } = await turn(daemon, token, { message: '1?' })
    assert.equal(res.statusCode, 200)
    assert.equal(res.headers['content-type'], 'text/event-stream')
    assert.equal(res.headers['cache-control'], 'no-store')
    assert.equal(res.headers['content-length'], undefined)
    assert.equal(await next(), delta('one'))
    for (const piece of [delta('two'), 'data: {"ha', 'lf"}\n\n', ': é\n\n']) {
      upstream.write(piece)
      assert.equal(await next(), piece)
    }
    upstream.end(LAST)
    assert.equal(await next(), LAST)
    assert.equal(await next(), null)
    assert.equal(endpoint.asked.at(-1)?.headers.authorization, `Bearer ${KEY}`)

    const conversation_id = res.headers['x-conversation-id'] as string
    endpoint.speak = (answer) => begins(answer).end(LAST)
    const second = await turn(daemon, token, { message: '2?', conversation_id })
    await second.rest()
    assert.equal(second.res.headers['x-conversation-id'], conversation_id)
    assert(endpoint.asked.at(-1)?.body.includes('onetwo'), 'what was said goes along')
    const turn_id = res.headers['x-turn-id']
    const rated = await daemon.request('POST', rest.chat.rate.path, {
      token,
      body: { turn_id, rating: 'up' },
    })
    assert.deepEqual(rated.json, { turn_id, rating: 'up', comment: null })
  })

  test('an endpoint that dies in the middle: the received part, the reason, and a clean end', async () => {
    const { daemon, token } = sceneOf()
    const read = Promise.withResolvers<void>()
    endpointOf().speak = async (res) => {
      begins(res).write(`${delta('half')}data: {"cho`)
      await read.promise
      res.socket!.destroy()
    }
    const { next, rest: others } = await turn(daemon, token, { message: '?' })
    assert.equal(await next(), `${delta('half')}data: {"cho`)
    read.resolve()
    assert.equal(ERROR.exec(await others())?.[1], 'backend_error')
  })

  test('a caller that leaves: the request to the endpoint is closed', async () => {
    const { daemon, token, log } = sceneOf()
    const gone = Promise.withResolvers<void>()
    endpointOf().speak = (res) => endless(res).then(gone.resolve)
    const { req, next } = await turn(daemon, token, { message: '?' })
    assert.equal(await next(), delta('half'))
    req.destroy()
    await gone.promise
    assert.doesNotMatch(log(), /ERR_STREAM/, 'that is nothing to worry about')
  })

  test('a caller that left before the answer began: the request is closed when it begins', async () => {
    const { daemon, token } = sceneOf()
    const asked = Promise.withResolvers<ServerResponse>()
    endpointOf().speak = asked.resolve
    const leaving = new AbortController()
    const { signal } = leaving
    const left = assert.rejects(
      fetch(daemon.address + rest.chat.turn.path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: '{"message":"?"}',
        signal,
      }),
    )
    const upstream = await asked.promise
    leaving.abort()
    await left
    await endless(upstream)
  })

  for (const [status, expected, code] of [
    [401, 502, 'backend_error'],
    [429, 503, 'backend_unavailable'],
    [500, 503, 'backend_unavailable'],
    [504, 504, 'backend_timeout'],
  ] as const)
    test(`an endpoint that answers ${status} in HTML: ${code}, without its text`, async () => {
      const { daemon, token, log } = sceneOf()
      endpointOf().speak = (res) =>
        res.writeHead(status, { 'Content-Type': 'text/html' }).end(`<b>${KEY}</b>`)
      const before = endpointOf().asked.length
      const body = { message: 'question-canary' }
      const answer = await daemon.request('POST', rest.chat.turn.path, { token, body })
      assert.equal(answer.status, expected, answer.text)
      assert.equal((answer.json as { error: string }).error, code)
      assert.match((answer.json as { message: string }).message, /The assistant /)
      assert.doesNotMatch(answer.text + log(), /canary|<b>/)
      assert.equal(endpointOf().asked.length, before + 1, 'asked once')
    })

  test('feedback with an Idempotency-Key is sent once', async () => {
    const { daemon, token } = sceneOf()
    const send = async () => {
      const headers = { 'Idempotency-Key': 'once' }
      const body = { message: 'It works.' }
      const answer = await daemon.request('POST', rest.feedback.send.path, { token, body, headers })
      assert.equal(answer.status, 201, answer.text)
      return answer.json
    }
    assert.deepEqual(await send(), await send())
  })

  test('an unknown conversation, and an invalid question', async () => {
    const { daemon, token } = sceneOf()
    const before = endpointOf().asked.length
    for (const [body, status] of [
      [{ message: 'x', conversation_id: `cnv_${'0'.repeat(26)}` }, 404],
      [{ message: 'x', conversation_id: 'cnv_' }, 422],
      [{ message: 'x'.repeat(16_001) }, 422],
      [{ message: 'x'.repeat(1_100_000) }, 413],
      [{ message: '' }, 422],
      [{}, 422],
    ] as const) {
      const answer = await daemon.request('POST', rest.chat.turn.path, { token, body })
      assert.equal(answer.status, status, JSON.stringify(body).slice(0, 60))
    }
    const reading = await daemon.token('read')
    const refused = await daemon.request('POST', rest.chat.turn.path, {
      token: reading,
      body: { message: 'x' },
    })
    assert.equal(refused.status, 403)
    assert.equal(endpointOf().asked.length, before)
  })
}

const hooks = () => {
  const closers: (() => unknown)[] = []
  return {
    t: { after: (work: () => unknown) => void closers.push(work) } as Pick<TestContext, 'after'>,
    close: async () => {
      for (const closer of closers.toReversed()) await closer()
    },
  }
}

const settings = (endpoint: Endpoint, folder: string) => {
  const file = join(folder, 'assistant-key')
  writeFileSync(file, `${KEY}\n`, { mode: 0o600 })
  return {
    SVC_ASSISTANT_URL: endpoint.url,
    SVC_ASSISTANT_KEY_FILE: file,
    SVC_ASSISTANT_MODEL: 'm-1',
  }
}

describe('the account server inside the daemon', () => {
  const { t, close } = hooks()
  let endpoint: Endpoint
  let scene: Scene
  before(async () => {
    endpoint = await startEndpoint()
    t.after(() => endpoint.close())
    const daemon = await startDaemon(settings(endpoint, freshFolder(t as TestContext)))
    t.after(() => daemon.close())
    scene = { daemon, token: await daemon.token('write'), log: () => daemon.log.join('') }
  })
  after(close)
  fromEndToEnd(
    () => endpoint,
    () => scene,
  )
})

describe('a remote account server', () => {
  const { t, close } = hooks()
  let endpoint: Endpoint
  let server: TestServer
  let scene: Scene
  before(async () => {
    endpoint = await startEndpoint()
    t.after(() => endpoint.close())
    const folder = freshFolder(t as TestContext)
    server = await startAccountServer(t, settings(endpoint, folder))
    const stateDir = freshFolder(t as TestContext)
    const mailDir = join(server.stateDir, 'mail')
    await login(stateDir, { server: server.address, mailDir, email: 'ada@example.org' })
    const daemon = await startDaemon({ SVC_STATE_DIR: stateDir, SVC_BACKEND_URL: server.address })
    t.after(() => daemon.close())
    const log = () => [...daemon.log, ...server.log].join('')
    scene = { daemon, token: await daemon.token('write'), log }
  })
  after(close)
  fromEndToEnd(
    () => endpoint,
    () => scene,
  )

  test('a server that ends in the middle: the received part, and the reason', async () => {
    const { daemon, token } = scene
    endpoint.speak = (res) => begins(res).write(delta('half'))
    const { next, rest: others } = await turn(daemon, token, { message: '?' })
    assert.equal(await next(), delta('half'))
    const closed = server.close()
    assert.equal(ERROR.exec(await others())?.[1], 'backend_error')
    await closed
  })
})
