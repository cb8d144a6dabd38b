/**
 * Tests the limit of open connections, and how long a connection without a pending answer stays
 * open.
 */
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { Agent, get } from 'node:http'
import { type Socket, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, it } from 'node:test'
import * as v from 'valibot'
import type { Table } from '../../src/api/route.ts'
import { newDispatch } from '../../src/http/dispatch.ts'
import { type Listening, type ServerOptions, listen } from '../../src/http/server.ts'
import { NO_TIMEOUTS, openGate, openRules } from './open-listener.ts'

const MOST = 20

const table = {
  things: {
    read: { method: 'GET', path: '/thing', by: 'daemon', reply: v.any() },
    later: { method: 'GET', path: '/later', by: 'daemon', reply: v.any() },
    stream: {
      method: 'GET',
      path: '/stream',
      by: 'daemon',
      media: ['text/event-stream'],
      lasting: true,
    },
    subscription: {
      method: 'GET',
      path: '/subscription',
      by: 'daemon',
      media: ['text/event-stream'],
    },
  },
} as const satisfies Table

/** Begins at once, and then waits for its reader to leave. */
const endless: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => {
    const left = Promise.withResolvers<void>()
    let isBegun = false
    return {
      async next() {
        if (isBegun) await left.promise
        const isFirst = !isBegun
        isBegun = true
        return isFirst
          ? { done: false, value: Buffer.from(':\n\n') }
          : { done: true, value: undefined }
      },
      async return() {
        left.resolve()
        return { done: true, value: undefined }
      },
    }
  },
}

let server: Listening
let later: PromiseWithResolvers<string>
let sockets: Socket[] = []
const asking = new EventEmitter()

async function start(options: Partial<ServerOptions> = {}): Promise<void> {
  later = Promise.withResolvers()
  server = await listen({
    name: 'api',
    bind: '127.0.0.1',
    port: 0,
    log: () => undefined,
    dispatch: newDispatch<{ scope: 'read' }>(
      table,
      {
        things: {
          read: async () => 'a thing',
          later: () => {
            asking.emit('later')
            return later.promise
          },
          stream: async () => ({ type: 'text/event-stream', body: endless }),
          subscription: async () => ({ type: 'text/event-stream', body: endless, lasting: true }),
        },
      },
      openGate,
    ),
    rules: openRules,
    mostConnections: MOST,
    ...options,
  })
}

afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets = []
  await server.close(0)
})

const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`

/** Returns a connection on which these bytes were sent. */
async function connected(bytes: string): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => undefined).resume()
  await once(socket, 'connect')
  if (bytes !== '') socket.write(bytes)
  return socket
}

/** Returns the answer to a request on a new connection, or on one of the agent’s. */
async function ask(path: string, agent: Agent | false = false): Promise<string> {
  const asked = get({ port: server.port, host: '127.0.0.1', path, agent })
  const [answer] = await once(asked, 'response')
  return text(answer)
}

describe('at the limit of connections', () => {
  const holders: [name: string, bytes: () => string][] = [
    ['that send nothing', () => ''],
    ['that send blank lines', () => '\r\n\r\n'],
    ['that send half a header section', () => request('/thing').slice(0, -2)],
    ['that got an answer', () => request('/thing')],
  ]
  for (const [name, bytes] of holders)
    it(`connections ${name} make room for new ones`, async () => {
      await start()
      for (let i = 0; i < 3 * MOST; i++) {
        await connected(bytes())
        assert.equal(await ask('/thing'), '"a thing"')
      }
    })

  it('the one without a pending answer for the longest time is closed', async () => {
    await start()
    const first = await connected('')
    const second = await connected('')
    first.write(request('/thing'))
    await once(first, 'data')
    const closed = once(second, 'close')
    while (sockets.length <= MOST) await connected('')
    await closed
    assert.deepEqual(
      sockets.filter((socket) => socket.destroyed),
      [second],
    )
  })

  it('an active keep-alive connection stays open', async () => {
    await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const used = new Set<Socket>()
    agent.on('free', (socket: Socket) => used.add(socket))
    for (let i = 0; i < 3 * MOST; i++) {
      await connected('')
      assert.equal(await ask('/thing', agent), '"a thing"')
    }
    assert.equal(used.size, 1)
    agent.destroy()
  })

  it('streams that last keep no other connection out, and count again after their end', async () => {
    await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    assert.equal(await ask('/thing', agent), '"a thing"')
    for (const path of ['/stream', '/subscription'])
      for (let n = 0; n < 2 * MOST; n++) await once(await connected(request(path)), 'data')
    // Neither the streams nor other connections are closed for a new one.
    assert.equal(await ask('/thing'), '"a thing"')
    const used = new Set<Socket>()
    agent.on('free', (socket: Socket) => used.add(socket))
    assert.equal(await ask('/thing', agent), '"a thing"')
    assert.deepEqual(
      sockets.filter((socket) => socket.destroyed),
      [],
    )
    const left = sockets.splice(0)
    for (const socket of left) socket.destroy()
    for (let i = 0; i < 3 * MOST; i++) {
      await connected('')
      assert.equal(await ask('/thing', agent), '"a thing"')
    }
    assert.equal(used.size, 1)
    agent.destroy()
  })

  it('a connection with a pending answer stays open, and the newest is rejected', async () => {
    await start()
    const answers: Promise<unknown[]>[] = []
    while (sockets.length < MOST) {
      const asked = once(asking, 'later')
      answers.push(once(await connected(request('/later')), 'data'))
      await asked
    }
    const refused = connect(server.port, '127.0.0.1').resume()
    await Promise.race([once(refused, 'close'), once(refused, 'error')])
    later.resolve('late')
    for (const [bytes] of await Promise.all(answers)) assert.match(String(bytes), /^HTTP\/1.1 200 /)
  })
})

describe('a connection without a pending answer', () => {
  it('is closed after the idle time, also when it sends blank lines', async () => {
    await start({ timeouts: { ...NO_TIMEOUTS, headers: 200, idle: 300 } })
    const socket = await connected(request('/thing'))
    await once(socket, 'data')
    const sending = setInterval(() => socket.write('\r\n'), 20)
    // Not `once`, which rejects for a line that arrives after the end.
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(sending)
  })
})
