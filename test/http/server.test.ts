/**
 * Tests the server with a table of its own.
 * The cases cover time limits, streamed content, failing answers, and the messages when it cannot
 * start.
 */
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import * as v from 'valibot'
import type { Content, Table } from '../../src/api/route.ts'
import { newDispatch } from '../../src/http/dispatch.ts'
import { EXIT, StartError } from '../../src/errors.ts'
import { newLog } from '../../src/log.ts'
import { type Listening, type ServerOptions, listen } from '../../src/http/server.ts'
import { ask } from '../daemon.ts'
import { answersIn, exchange, send, sendAndClose } from './raw.ts'
import { ENDLESS_MS, NO_TIMEOUTS, openGate, openRules } from './open-listener.ts'

const table = {
  things: {
    create: {
      method: 'POST',
      path: '/things',
      by: 'daemon',
      body: v.strictObject({ name: v.string() }),
      reply: v.object({ id: v.string() }),
      status: 201,
    },
    read: {
      method: 'GET',
      path: '/things/{id}',
      by: 'daemon',
      reply: v.object({ id: v.string() }),
    },
    delete: { method: 'DELETE', path: '/things/{id}', by: 'daemon', status: 204 },
  },
  streams: {
    read: {
      method: 'GET',
      path: '/streams/{id}',
      by: 'daemon',
      media: ['text/plain'],
    },
    events: {
      method: 'GET',
      path: '/events/{id}',
      by: 'daemon',
      media: ['text/event-stream'],
    },
  },
} as const satisfies Table

const SECRET = 'canary-of-a-cause'
const encoder = new TextEncoder()

/** Yields content: `whole` ends well; `broken` fails before its first byte, `torn` after it. */
async function* pieces(id: string): AsyncIterable<Uint8Array> {
  if (id === 'broken') throw new Error(SECRET)
  yield encoder.encode('one ')
  if (id === 'torn') throw new Error(SECRET)
  // More than all buffers between two programs hold.
  if (id === 'large') yield new Uint8Array(64 * 1024 * 1024)
  if (id === 'silent') await new Promise(() => undefined)
  yield encoder.encode('two')
}

/**
 * Emits the id of an event stream when its client leaves. `ID: goes on` makes a waiting stream
 * continue.
 */
const left = new EventEmitter()
/** Yields one event, then nothing. After `ID: goes on` it yields a second event and ends. */
const silence = (id: string): AsyncIterable<Uint8Array> => {
  let reports = 0
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        if (reports === 1) await once(left, `${id}: goes on`)
        return reports++ < 2
          ? { done: false, value: encoder.encode(`data: ${reports === 1 ? 'one' : 'two'}\n\n`) }
          : { done: true, value: undefined }
      },
      async return() {
        left.emit(id)
        return { done: true, value: undefined }
      },
    }),
  }
}

const answers = {
  things: {
    create: async ({ body }: { body: { name: string } }) => ({ id: body.name }),
    read: async ({ id }: { id: string }) => {
      if (id === 'full') throw Object.assign(new Error(SECRET), { code: 'ENOSPC' })
      if (id === 'text') throw SECRET
      if (id === 'none') throw undefined
      throw new TypeError(SECRET)
    },
    delete: async () => undefined,
  },
  streams: {
    read: async ({ id }: { id: string }): Promise<Content> => ({
      type: 'text/plain',
      body: pieces(id),
      headers: { 'Content-Security-Policy': "default-src 'self'" },
    }),
    events: async ({ id }: { id: string }): Promise<Content> => {
      if (id === 'late') {
        left.emit('waits')
        await once(left, 'goes on')
      }
      return { type: 'text/event-stream', body: silence(id) }
    },
  },
}

const log: string[] = []
const open = (options: Partial<ServerOptions> = {}) =>
  listen({
    name: 'api',
    bind: '127.0.0.1',
    port: 0,
    log: newLog('debug', (line) => log.push(line)),
    dispatch: newDispatch<{ scope: 'read' }>(table, answers, openGate),
    rules: openRules,
    // The limit of silence is longer than a test may take, so a test that waits for it fails.
    timeouts: { headers: 150, request: 300, silence: 600_000 },
    ...options,
  })

let server: Listening
let address: string
before(async () => {
  server = await open()
  address = `http://127.0.0.1:${server.port}`
})
after(() => server.close(0))

const host = () => `Host: 127.0.0.1:${server.port}`

const stalled: [name: string, bytes: () => string][] = [
  ['nothing at all', () => ''],
  ['half a request line', () => 'POST /thi'],
  ['half the headers', () => `POST /things HTTP/1.1\r\n${host()}\r\nContent-`],
  [
    'no body',
    () =>
      `POST /things HTTP/1.1\r\n${host()}\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n`,
  ],
  [
    'half a body',
    () =>
      `POST /things HTTP/1.1\r\n${host()}\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"name"`,
  ],
  [
    'half a chunk',
    () =>
      `POST /things HTTP/1.1\r\n${host()}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"`,
  ],
  [
    'no body after 100 Continue',
    () =>
      `POST /things HTTP/1.1\r\n${host()}\r\nContent-Type: application/json\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n`,
  ],
]

for (const [name, bytes] of stalled)
  test(`a client that sends ${name} and stops → 408, closed`, async () => {
    const given = answersIn(await send(address, bytes())).filter(({ status }) => status !== 100)
    assert.deepEqual(
      given.map(({ status }) => status),
      [408],
    )
    const [{ body, headers } = assert.fail()] = given
    assert.match(body, /"request_timeout"/)
    assert.equal(headers['connection'], 'close')
    assert.match(headers['x-request-id'] ?? '', /./)
  })

test('a rejected request that stalls gets no second answer', async () => {
  const text = await send(address, `POST /nope HTTP/1.1\r\n${host()}\r\nContent-Length: 5\r\n\r\n{`)
  assert.deepEqual(
    answersIn(text).map(({ status }) => status),
    [404],
  )
})

test('the headers have a limit of their own', async () => {
  const hurried = await open({ timeouts: { ...NO_TIMEOUTS, headers: 100 } })
  const text = await send(`http://127.0.0.1:${hurried.port}`, 'GET /things/x HTTP/1.1\r\n')
  assert.match(text, /^HTTP\/1.1 408 /)
  await hurried.close(0)
})

for (const id of ['large', 'silent'])
  test(`a connection without traffic is closed: ${id}`, async () => {
    const impatient = await open({ timeouts: { ...NO_TIMEOUTS, silence: 200 } })
    const socket = connect(impatient.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`GET /streams/${id} HTTP/1.1\r\nHost: 127.0.0.1:${impatient.port}\r\n\r\n`)
    await once(socket, 'readable')
    // `close` waits until all connections have ended. This one stays open: its client stops
    // reading the answer.
    await impatient.close(ENDLESS_MS)
    socket.destroy()
  })

for (const bytes of ['CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', '\0\r\n\r\n'])
  test(`a client that keeps its end open is disconnected after ${JSON.stringify(bytes)}`, async () => {
    const own = await open({ timeouts: NO_TIMEOUTS })
    const socket = connect({ host: '127.0.0.1', port: own.port, allowHalfOpen: true })
    socket.on('error', () => undefined)
    socket.resume().write(bytes)
    await once(socket, 'end')
    // `close` returns when no connection is left. It does not cut open ones here.
    await own.close(ENDLESS_MS)
    socket.destroy()
  })

test('an answer of 204 has no body', async () => {
  const { status, headers, text } = await ask(address, 'DELETE', '/things/x')
  assert.deepEqual([status, text, headers['content-type']], [204, '', undefined])
  assert.equal(headers['cache-control'], 'no-store')
})

test('a 201 names the location of the resource', async () => {
  const { status, headers } = await ask(address, 'POST', '/things', { body: { name: 'x' } })
  assert.deepEqual([status, headers.location], [201, '/things/x'])
})

for (const [id, code] of [
  ['error', '500 internal'],
  ['text', '500 internal'],
  ['none', '500 internal'],
  ['full', '507 storage_full'],
] as const)
  test(`an answer that throws (${id}) → ${code}, and the cause is only in the log`, async () => {
    const { status, json, text } = await ask(address, 'GET', `/things/${id}`)
    assert.equal(`${status} ${(json as { error: string }).error}`, code)
    assert(!text.includes(SECRET))
  })

test('an internal error is logged with the id of the request', async () => {
  const { headers } = await ask(address, 'GET', '/things/error')
  const line = log.find((it) => it.includes(headers['x-request-id'] as string)) ?? assert.fail()
  assert.match(line, new RegExp(`"level":"error".*${SECRET}`))
})

test('content is streamed with the page’s own CSP', async () => {
  const { status, text, headers } = await ask(address, 'GET', '/streams/whole')
  assert.deepEqual([status, text], [200, 'one two'])
  assert.equal(headers['content-security-policy'], "default-src 'self'")
  assert.equal(headers['referrer-policy'], 'no-referrer')
})

test('a client that half-closes gets a whole stream', async () => {
  const came = await sendAndClose(
    address,
    `GET /streams/whole HTTP/1.1\r\n${host()}\r\nConnection: close\r\n\r\n`,
  )
  assert.match(came, /\r\none \r\n.*\r\ntwo\r\n0\r\n\r\n$/s)
})

for (const [id, how] of [
  ['closed', 'between events'],
  ['late', 'before the first event'],
  ['second', 'with another answer before it'],
] as const)
  test(`a reader of an event stream leaves ${how}: its source is closed`, async () => {
    const gone = once(left, id)
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => undefined)
    const before = id === 'second' ? `DELETE /things/x HTTP/1.1\r\n${host()}\r\n\r\n` : ''
    socket.write(`${before}GET /events/${id} HTTP/1.1\r\n${host()}\r\n\r\n`)
    if (id === 'late') {
      await once(left, 'waits')
      socket.destroy()
      left.emit('goes on')
    } else {
      for await (const bytes of socket) if ((bytes as Buffer).includes('data: one')) break
      socket.destroy()
    }
    await gone
  })

test('a reader of an event stream that half-closes gets all of it', async () => {
  const socket = connect({ host: '127.0.0.1', port: server.port, allowHalfOpen: true })
  socket.end(`GET /events/released HTTP/1.1\r\n${host()}\r\nConnection: close\r\n\r\n`)
  let came = ''
  for await (const bytes of socket) {
    came += String(bytes)
    // After this time, the server would have noticed a client that left.
    if (came.split(':\n\n').length === 5) left.emit('released: goes on')
  }
  assert.match(came, /data: one\n\n.*data: two\n\n\r\n0\r\n\r\n$/s)
})

test('HEAD of a stream has no body', async () => {
  const text = await send(
    address,
    `HEAD /streams/whole HTTP/1.1\r\n${host()}\r\nConnection: close\r\n\r\n`,
  )
  assert.match(text, /^HTTP\/1.1 200 /)
  assert(text.endsWith('\r\n\r\n'))
})

for (const id of ['torn', 'broken'])
  test(`a stream that is ${id} does not look complete`, async () => {
    await assert.rejects(ask(address, 'GET', `/streams/${id}`))
    assert.equal((await ask(address, 'DELETE', '/things/x')).status, 204)
  })

test('the proof of the daemon answers a nonce, after the guard', async () => {
  const proving = await open({ prove: (nonce) => `proof of ${nonce}` })
  const at = `http://127.0.0.1:${proving.port}`
  const lines = (name: string) => [
    'DELETE /things/x HTTP/1.1',
    `Host: ${name}`,
    'Connection: close',
    'Countersign-Nonce: n',
  ]
  const [good] = await exchange(at, lines(`127.0.0.1:${proving.port}`))
  assert.equal(good?.headers['countersign-proof'], 'proof of n')
  const [bad] = await exchange(at, lines('evil.example'))
  assert.deepEqual([bad?.status, bad?.headers['countersign-proof']], [403, undefined])
  await proving.close(0)
})

test('a taken port prevents a start', async () => {
  const other = createServer()
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await assert.rejects(open({ port }), (error) => {
    assert(error instanceof StartError)
    assert.equal(error.exit, EXIT.portTaken)
    assert(error.message.includes(String(port)))
    return true
  })
  other.close()
})

test('an address of another machine prevents a start', async () => {
  await assert.rejects(open({ bind: '192.0.2.1' }), (error) => {
    assert(error instanceof StartError)
    assert.equal(error.exit, EXIT.configuration)
    return true
  })
})

test('close waits for running requests, and accepts no new ones', async () => {
  const closing = await open()
  const at = `http://127.0.0.1:${closing.port}`
  const head = `POST /things HTTP/1.1\r\nHost: 127.0.0.1:${closing.port}\r\nContent-Type: application/json\r\n`
  const socket = connect(closing.port, '127.0.0.1')
  socket.write(`${head}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n`)
  await once(socket, 'data')
  const closed = closing.close(ENDLESS_MS)
  await assert.rejects(ask(at, 'DELETE', '/things/x'))
  socket.write('{"name":"x"}')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  assert.match(answer.toString(), /^HTTP\/1.1 201 /)
  socket.destroy()
  await closed
})

test('close cuts requests that do not end', async () => {
  const closing = await open({ timeouts: NO_TIMEOUTS })
  const socket = connect(closing.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('POST /things HTTP/1.1\r\n')
  await once(socket, 'connect')
  const gone = once(socket, 'close')
  await closing.close(50)
  await gone
})
