/**
 * Tests an orderly shutdown.
 * Running requests are finished, new ones are refused, and it takes no longer than its limit.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { afterEach, test } from 'node:test'
import * as v from 'valibot'
import type { Table } from '../../src/api/route.ts'
import { newDispatch } from '../../src/http/dispatch.ts'
import { type Listening, listen } from '../../src/http/server.ts'
import { answersIn } from './raw.ts'
import { ENDLESS_MS, openGate, openRules } from './open-listener.ts'

const table = {
  things: {
    read: { method: 'GET', path: '/now', by: 'daemon', reply: v.any() },
    later: { method: 'GET', path: '/later', by: 'daemon', reply: v.any() },
    large: { method: 'GET', path: '/large', by: 'daemon', reply: v.any() },
    create: {
      method: 'POST',
      path: '/things',
      by: 'daemon',
      body: v.any(),
      reply: v.any(),
    },
    stream: {
      method: 'GET',
      path: '/stream',
      by: 'daemon',
      media: ['text/plain'],
    },
  },
} as const satisfies Table

/** More than the buffers between two programs hold. */
const LARGE = 30_000_000

/** Returns a promise and the function that resolves it. */
function latch() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

interface Case {
  readonly server: Listening
  /** Opens a separate connection; returns it with all that arrived on it so far. */
  readonly client: () => Promise<{
    readonly socket: Socket
    readonly text: () => string
    readonly closed: Promise<unknown>
  }>
  readonly request: (target: string, method?: string) => string
  /** Answers the waiting requests. */
  readonly answer: () => void
  /** Resolves when this many requests have begun. */
  readonly begun: (count: number) => Promise<void>
}

let opened: Listening[] = []
afterEach(async () => {
  await Promise.all(opened.map((server) => server.close(0)))
  opened = []
})

async function start(): Promise<Case> {
  const wait = latch()
  let count = 0
  let error: () => void = () => undefined
  const begin = () => {
    count++
    error()
  }
  const server = await listen({
    name: 'api',
    bind: '127.0.0.1',
    port: 0,
    log: () => undefined,
    dispatch: newDispatch<{ scope: 'read' }>(
      table,
      {
        things: {
          read: async () => ({ now: true }),
          later: async () => {
            begin()
            await wait.opened
            return { later: true }
          },
          create: async ({ body }: { body: unknown }) => body,
          large: async () => {
            begin()
            await wait.opened
            return 'x'.repeat(LARGE)
          },
          stream: async () => ({
            type: 'text/plain',
            body: (async function* () {
              yield Buffer.from('one ')
              begin()
              await wait.opened
              yield Buffer.from('two')
            })(),
          }),
        },
      },
      openGate,
    ),
    rules: openRules,
  })
  opened.push(server)
  return {
    server,
    async client() {
      const socket = connect(server.port, '127.0.0.1')
      let text = ''
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
      socket.on('error', () => undefined)
      const closed = once(socket, 'close')
      await once(socket, 'connect')
      return { socket, text: () => text, closed }
    },
    request: (target, method = 'GET') =>
      `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`,
    answer: wait.open,
    async begun(wanted) {
      while (count < wanted) await new Promise<void>((resolve) => (error = resolve))
    },
  }
}

test('a running request is answered as the last, and its connection closes', async () => {
  const { server, client, request, answer, begun } = await start()
  const { socket, text, closed } = await client()
  socket.write(`${request('/later')}\r\n`)
  await begun(1)
  const stopped = server.close(ENDLESS_MS)
  answer()
  await closed
  await stopped
  const [only, ...none] = answersIn(text())
  assert.deepEqual([only?.status, only?.body, none], [200, '{"later":true}', []])
  assert.equal(only?.headers['connection'], 'close')
})

test('an idle connection closes at once', async () => {
  const { server, client, request } = await start()
  const { socket, text, closed } = await client()
  socket.write(`${request('/now')}\r\n`)
  await once(socket, 'data')
  await Promise.all([server.close(ENDLESS_MS), closed])
  assert.equal(answersIn(text()).length, 1)
})

test('a new connection is rejected', async () => {
  const { server, client, request, answer, begun } = await start()
  const { socket } = await client()
  socket.write(`${request('/later')}\r\n`)
  await begun(1)
  const stopped = server.close(ENDLESS_MS)
  const late = connect(server.port, '127.0.0.1')
  const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNREFUSED')
  answer()
  await stopped
})

test('a new request on a busy connection is rejected, and the running one is answered', async () => {
  const { server, client, request } = await start()
  const { socket, text, closed } = await client()
  const post = `${request('/things', 'POST')}Content-Type: application/json\r\nContent-Length: 9\r\n`
  // The first request has begun when the server asks for its body.
  socket.write(`${post}Expect: 100-continue\r\n\r\n`)
  await once(socket, 'data')
  const stopped = server.close(ENDLESS_MS)
  socket.write(`{"old":1}${post}\r\n{"new":1}`)
  await closed
  await stopped
  const [, ...answers] = answersIn(text())
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 503],
  )
  const { body, headers } = answers[1] as (typeof answers)[number]
  assert.equal((JSON.parse(body) as { error: string }).error, 'shutting_down')
  assert.match(headers['retry-after'] ?? '', /^\d+$/)
})

test('a partial request is rejected when it is complete', async () => {
  const { server, client, request } = await start()
  const { socket, text, closed } = await client()
  socket.write(request('/now'))
  // When the server has answered a later client, it has also received these bytes.
  const other = await client()
  other.socket.write(`${request('/now')}\r\n`)
  await once(other.socket, 'data')
  const stopped = server.close(ENDLESS_MS)
  socket.write('\r\n')
  await closed
  await stopped
  const [only] = answersIn(text())
  assert.deepEqual([only?.status, only?.headers['connection']], [503, 'close'])
})

test('the guard still applies', async () => {
  const { server, client, request } = await start()
  const { socket, text, closed } = await client()
  socket.write(`${request('/now')}Origin: https://evil.example\r\n`)
  const other = await client()
  other.socket.write(`${request('/now')}\r\n`)
  await once(other.socket, 'data')
  const stopped = server.close(ENDLESS_MS)
  socket.write('\r\n')
  await closed
  await stopped
  assert.equal(answersIn(text())[0]?.status, 403)
})

test('a running stream is sent to its end, and its connection is not kept', async () => {
  const { server, client, request, answer, begun } = await start()
  const { socket, text, closed } = await client()
  socket.write(`${request('/stream')}\r\n`)
  await begun(1)
  const stopped = server.close(ENDLESS_MS)
  answer()
  await closed
  await stopped
  assert.match(text(), /one [^]*two[^]*\r\n0\r\n\r\n$/)
})

test('a request that does not end is cut after the time limit', async () => {
  const { server, client, request, begun } = await start()
  const { socket, text, closed } = await client()
  socket.write(`${request('/later')}\r\n`)
  await begun(1)
  await Promise.all([server.close(20), closed])
  assert.equal(text(), '')
})

test('all earlier requests are answered, in order', async () => {
  const { server, client, request, answer, begun } = await start()
  const { socket, text, closed } = await client()
  socket.write(`${request('/later')}\r\n${request('/now')}\r\n${request('/later')}\r\n`)
  await begun(1)
  const stopped = server.close(ENDLESS_MS)
  answer()
  await closed
  await stopped
  assert.deepEqual(
    answersIn(text()).map(({ status, body }) => [status, body]),
    [
      [200, '{"later":true}'],
      [200, '{"now":true}'],
      [200, '{"later":true}'],
    ],
  )
})

for (const first of ['the stop is requested', 'it is answered'] as const)
  test(`a large answer is sent whole to a slow reader: ${first} first`, async () => {
    const { server, client, request, answer, begun } = await start()
    const { socket, text, closed } = await client()
    socket.pause()
    socket.write(`${request('/large')}\r\n`)
    await begun(1)
    if (first === 'it is answered') {
      answer()
      // The operating system of the client has received all that the server wrote.
      while (socket.readableLength === 0) {
        socket.read(0)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const stopped = server.close(ENDLESS_MS)
    answer()
    await new Promise((resolve) => setImmediate(resolve))
    socket.resume()
    await closed
    await stopped
    assert.equal(answersIn(text())[0]?.body.length, LARGE + 2)
  })

test('a connection without a request does not delay the stop', async () => {
  const { server, client } = await start()
  const { closed } = await client()
  await Promise.all([server.close(ENDLESS_MS), closed])
})
