/**
 * Tests requests that a client sends without waiting for answers.
 * The server handles them in order, few at a time, and no faster than the client reads.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import * as v from 'valibot'
import type { Table } from '../../src/api/route.ts'
import { newDispatch } from '../../src/http/dispatch.ts'
import { type Listening, listen } from '../../src/http/server.ts'
import { answersIn, sendAndClose } from './raw.ts'
import { openGate, openRules } from './open-listener.ts'

const MIB = 1024 * 1024
const LARGE = 30 * MIB
const CROWD = 400

const table = {
  things: {
    read: { method: 'GET', path: '/things/{id}', by: 'daemon', reply: v.any() },
    create: {
      method: 'POST',
      path: '/things',
      by: 'daemon',
      body: v.any(),
      reply: v.any(),
    },
    large: { method: 'GET', path: '/large/{id}', by: 'daemon', reply: v.any() },
    later: { method: 'GET', path: '/later', by: 'daemon', reply: v.any() },
  },
} as const satisfies Table

interface Case {
  readonly server: Listening
  readonly address: string
  readonly connected: () => Promise<Socket>
  readonly request: (target: string, method?: string) => string
  /** The ids of the things, in the order in which their answers were made. */
  readonly made: string[]
  /** Makes the answer to `/later`. */
  readonly answer: () => void
}

let opened: Case[] = []
afterEach(async () => {
  for (const { answer } of opened) answer()
  await Promise.all(opened.map(({ server }) => server.close(0)))
  opened = []
})

async function start(): Promise<Case> {
  const made: string[] = []
  let answer: () => void = () => undefined
  const answered = new Promise<void>((resolve) => (answer = resolve))
  const server = await listen({
    name: 'api',
    bind: '127.0.0.1',
    port: 0,
    log: () => undefined,
    dispatch: newDispatch<{ scope: 'read' }>(
      table,
      {
        things: {
          read: async ({ id }: { id: string }) => {
            made.push(id)
            return { id }
          },
          create: async ({ body }: { body: unknown }) => body,
          large: async ({ id }: { id: string }) => {
            made.push(id)
            return 'x'.repeat(LARGE)
          },
          later: async () => {
            await answered
            return { later: true }
          },
        },
      },
      openGate,
    ),
    rules: openRules,
  })
  const started: Case = {
    server,
    address: `http://127.0.0.1:${server.port}`,
    async connected() {
      const socket = connect(server.port, '127.0.0.1')
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    },
    request: (target, method = 'GET') =>
      `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`,
    made,
    answer,
  }
  opened.push(started)
  return started
}

const ids = (count: number) => Array.from({ length: count }, (_, i) => String(i))

/** Checks that a well-behaved client on a separate connection gets its answer. */
async function isAnswered({ connected, request }: Case): Promise<void> {
  const socket = await connected()
  socket.write(`${request('/things/honest')}\r\n`)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  assert.match(bytes.toString(), /^HTTP\/1.1 200 /)
  socket.destroy()
}

describe('pipelined requests', () => {
  for (const count of [2, 5, 9, 10, 1500])
    it(`${count} at once get their answers in order`, async () => {
      const { address, request } = await start()
      const all = ids(count).map((id) => `${request(`/things/${id}`)}\r\n`)
      const answers = answersIn(await sendAndClose(address, all.join('')))
      assert.deepEqual(
        answers.map(({ body }) => (JSON.parse(body) as { id: string }).id),
        ids(count),
      )
    })

  it('in pieces of any size are the same requests', async () => {
    const { connected, request } = await start()
    const body = '{"text":"a\\r\\n\\r\\nb"}'
    const post = `${request('/things', 'POST')}Content-Type: application/json\r\n`
    const bytes =
      `${request('/things/1')}\r\n${post}Content-Length: ${body.length}\r\n\r\n${body}` +
      `${post}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${request('/things/2')}\r\n`
    for (const size of [1, 3, 17, 64]) {
      const socket = await connected()
      socket.setNoDelay(true)
      let came = ''
      socket.setEncoding('latin1').on('data', (text: string) => (came += text))
      for (let at = 0; at < bytes.length; at += size) {
        socket.write(bytes.slice(at, at + size))
        await new Promise((resolve) => setImmediate(resolve))
      }
      socket.end()
      await once(socket, 'close')
      assert.deepEqual(
        answersIn(came).map((one) => one.body),
        ['{"id":"1"}', body, '{}', '{"id":"2"}'],
      )
    }
  })

  it('run one after the other', async () => {
    const { connected, request, made, answer } = await start()
    const socket = await connected()
    socket.write(`${request('/later')}\r\n${request('/things/behind')}\r\n`)
    await isAnswered(opened[0]!)
    assert.deepEqual(made, ['honest'])
    answer()
    let came = ''
    for await (const bytes of socket) if ((came += String(bytes)).includes('behind')) break
    assert.deepEqual(made, ['honest', 'behind'])
  })

  it('behind one that ends the connection do not run', async () => {
    const { address, request, made } = await start()
    const bytes = `${request('/things/1')}\r\n${request('//')}\r\n${request('/things/2')}\r\n`
    const answers = answersIn(await sendAndClose(address, bytes))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400],
    )
    assert.deepEqual(made, ['1'])
  })

  it('before invalid bytes are answered', async () => {
    const { address, request, made } = await start()
    const bytes = `${request('/things/1')}\r\n${request('/things/2')}\r\n\0\r\n\r\n${request('/things/3')}\r\n`
    const answers = answersIn(await sendAndClose(address, bytes))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    )
    assert.deepEqual(made, ['1', '2'])
  })
})

describe('pipelined requests on many connections', () => {
  it('run a few at a time, and a new connection is answered in between', async () => {
    const all = await start()
    const { connected, request, made, answer } = all
    const crowd = await Promise.all(ids(CROWD).map(connected))
    for (const socket of crowd)
      socket.resume().write(`${request('/later')}\r\n${request('/things/behind')}\r\n`)
    // When this returns, the requests of the crowd have arrived.
    await isAnswered(all)
    const honest = isAnswered(all)
    answer()
    await honest
    const begun = made.filter((id) => id === 'behind').length
    assert(begun < CROWD, `all ${begun} requests began before the new connection was answered`)
    for (const socket of crowd) socket.destroy()
  })
})

describe('unread answers', () => {
  it('are not made before the earlier one was sent', async () => {
    const all = await start()
    const { connected, request, made } = all
    const socket = await connected()
    socket.pause()
    socket.write(
      ids(3)
        .map((id) => `${request(`/large/${id}`)}\r\n`)
        .join(''),
    )
    await isAnswered(all)
    await isAnswered(all)
    assert.deepEqual(
      made.filter((id) => id !== 'honest'),
      ['0'],
    )
    socket.destroy()
  })

  it('above the limit close the connection that waits for the longest time', async () => {
    const all = await start()
    const { connected, request } = all
    const readers = await Promise.all(ids(3).map(connected))
    const [first] = readers as [Socket]
    const closed = once(first, 'close')
    for (const [i, socket] of readers.entries()) {
      socket.pause()
      socket.write(`${request(`/large/${i}`)}\r\n`)
      while (!all.made.includes(String(i))) await isAnswered(all)
    }
    // The client reads what its operating system has buffered. Then it finds that the connection
    // was cut.
    let bytes = 0
    first.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume()
    await closed
    assert(bytes < LARGE, `${bytes} bytes`)
    await isAnswered(all)
    for (const socket of readers) socket.destroy()
  })
})

describe('a rejected body', () => {
  it('is discarded, and its client gets the answer without a reset', async () => {
    const { connected, request } = await start()
    const socket = await connected()
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    const type = 'Content-Type: application/json\r\n'
    socket.write(
      `${request('/things', 'POST')}${type}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(17)}`,
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    assert.match(answer.toString('latin1'), /^HTTP\/1.1 413 /)
    const closed = Promise.withResolvers<string>()
    socket.once('end', () => closed.resolve('end')).once('error', (e) => closed.resolve(e.message))
    socket.resume().write(chunk.repeat(64))
    assert.equal(await closed.promise, 'end')
    socket.destroy()
  })
})
