/**
 * A real daemon behind a proxy that spoils only the stream of hints. The daemon must behave as if
 * there were no stream: it opens it again with growing waits, it syncs at a bounded rate, it reads
 * a bounded number of bytes, and its status has the state and the reason.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type IncomingMessage,
  type ServerResponse,
  createServer,
  request as httpRequest,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, describe, it, test } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { serveAccount } from '../../src/daemon/account-server.ts'
import { newHintFollower } from '../../src/device/sync/hint-follower.ts'
import { newLog } from '../../src/log.ts'
import { openRemote } from '../../src/remote/remote.ts'
import { daemonHere, terminal } from '../cli/terminal.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'
import { type Json, caller, newToken } from './caller.ts'
import { environment } from './program.ts'
import { login } from './servers.ts'

const OPEN = 'event: open\ndata: {}\n\n'
const CHANGED = 'event: changed\ndata: {"parts":["connections"]}\n\n'
const MIB = 1 << 20

/** Answers the request for a stream. `attempt` is 0 for the first request. */
type Spoil = (res: ServerResponse, attempt: number) => void

async function listening(
  t: TestContext,
  answer: (req: IncomingMessage, res: ServerResponse) => void,
) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Starts a proxy that passes on everything but the stream. */
async function newProxy(t: TestContext) {
  const proxy = {
    url: '',
    /** The port of the account server. */
    port: 0,
    spoil: ((res) => res.destroy()) as Spoil,
    /** How often the stream was requested. */
    streams: 0,
    /** The other requests of the device, such as `GET /device/v1/changes`. */
    requests: [] as string[],
    /** Called after each answer to `GET /device/v1/changes`, that is, during each sync. */
    onSync: () => undefined as void,
  }
  proxy.url = await listening(t, (req, res) => {
    const { method = '', url = '', headers } = req
    const path = url.replace(/\?.*/, '')
    if (path === '/device/v1/hints') {
      proxy.spoil(res, proxy.streams++)
      return
    }
    proxy.requests.push(`${method} ${path}`)
    const onward = httpRequest(
      { host: '127.0.0.1', port: proxy.port, method, path: url, headers },
      (answer) => {
        res.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(res)
        if (path === '/device/v1/changes') proxy.onSync()
      },
    )
    onward.once('error', () => res.destroy())
    req.pipe(onward)
  })
  return proxy
}

/** Starts an account server behind the proxy, and signs a device in. */
async function setUp(t: TestContext) {
  const proxy = await newProxy(t)
  const mailDir = freshFolder(t)
  const settings = { SVC_MAIL_DIR: mailDir, SVC_PUBLIC_URL: proxy.url }
  const server = await serveAccount(
    readConfig(environment(join(freshFolder(t), 'server'), settings)),
    newLog('error', () => undefined),
  )
  t.after(() => server.close())
  proxy.port = Number(new URL(server.address).port)
  const stateDir = freshFolder(t)
  await login(stateDir, { server: proxy.url, mailDir, email: 'ada@example.org' })
  const env = { SVC_BACKEND_URL: proxy.url }

  /** Starts the daemon with a spoiled stream. */
  async function start(t: TestContext, spoil: Spoil) {
    Object.assign(proxy, { spoil, streams: 0, requests: [], onSync: () => undefined })
    const began = performance.now()
    const daemon = await daemonHere(stateDir, 'debug', env)
    let isClosed = false
    const close = async () => {
      if (!isClosed) await daemon.close()
      isClosed = true
    }
    t.after(close)
    const { token } = await newToken(daemon.address)
    const call = caller(daemon.address, token)
    return {
      call,
      close,
      seconds: () => (performance.now() - began) / 1000,
      syncs: () => proxy.requests.filter((one) => one === 'GET /device/v1/changes').length,
      stream: async () => ((await call('GET /api/v1/status')) as Json).stream as Json,
      shown: async () => (await terminal(stateDir)(['status'], { env })).out,
    }
  }

  return { proxy, start }
}

const streaming = (res: ServerResponse) =>
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })

test('a stream that is no stream', async (t) => {
  const { proxy, start } = await setUp(t)
  let elsewhere = 0
  const other = await listening(t, (_, res) => {
    elsewhere++
    res.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(OPEN)
  })

  const cases: [what: string, spoil: Spoil, reason: RegExp][] = [
    ['JSON', (res) => res.setHeader('Content-Type', 'application/json').end('{}'), /media type/],
    [
      'a page',
      (res) => res.setHeader('Content-Type', 'text/html').end(`<p>${OPEN}</p>`),
      /media type/,
    ],
    ['204', (res) => res.writeHead(204).end(), /status 204/],
    ['404', (res) => res.writeHead(404).end(), /failed with 404/],
    ['500', (res) => res.writeHead(500).end(), /failed with 500/],
    [
      'a redirect',
      (res) => res.writeHead(302, { Location: `${other}/device/v1/hints` }).end(),
      /redirect \(302\), which is not followed/,
    ],
    ['a reset connection', (res) => res.destroy(), /closed the connection/],
    [
      'bytes that are no HTTP',
      (res) => res.socket!.end('\0\x01\x02 OPEN\r\n\r\n'),
      /not answer in HTTP/,
    ],
    [
      'compressed',
      (res) => res.setHeader('Content-Encoding', 'gzip') && streaming(res).end(OPEN),
      /media type/,
    ],
    ['an end at once', (res) => streaming(res).end(), /closed the stream|closed the connection/],
    ['half an event', (res) => streaming(res).end(OPEN.slice(0, -1)), /closed the stream/],
    [
      'no event',
      (res) => streaming(res).end('\xff\xfe{"parts":[\0<html>\r\n\r\n'),
      /closed the stream/,
    ],
    [
      'a hint before the stream is open',
      (res) => streaming(res).end(CHANGED.repeat(100)),
      /closed the stream/,
    ],
    ['an error', (res) => streaming(res).end('event: error\ndata: {}\n\n'), /closed the stream/],
  ]
  for (const [what, spoil, reason] of cases)
    await t.test(what, async (t) => {
      const { stream, shown, seconds, syncs, call } = await start(t, spoil)
      const closed = async () => {
        const found = await stream()
        return found !== null && found.reason !== null && found
      }
      const { state, reason: why } = await until('the reason in the status', closed)
      assert.equal(state, 'closed')
      assert.match(why, reason)
      assert.match(await shown(), new RegExp(`^Changes +fetched every 15 minutes, since .*: `, 'm'))
      // The waits are at least half of 1, 2, 4 … seconds, and each attempt sends four requests at
      // most.
      const attempts = 4 * (2 + Math.log2(1 + 2 * seconds()))
      assert(proxy.streams <= attempts, `${proxy.streams} requests in ${seconds()} s`)
      assert(syncs() <= 3 + Math.log2(1 + seconds()), `${syncs()} syncs in ${seconds()} s`)
      assert.equal(((await call('POST /api/v1/sync')) as Json).last_sync.ok, true)
    })
  assert.equal(elsewhere, 0)
})

/** How many syncs hints may cause in this time (`daemon/schedule.ts`), with those of the start. */
const mostSyncs = (seconds: number) => 60 + seconds + 4

describe('a stream that is open', () => {
  it('10,000 hints at once, again and again: the number of syncs is bounded, and each reads nothing', async (t) => {
    const { proxy, start } = await setUp(t)
    let flood: () => void = () => undefined
    const { syncs, seconds, stream, shown } = await start(t, (res) => {
      streaming(res).write(OPEN)
      flood = () => void res.write(CHANGED.repeat(10_000))
    })
    await until('an open stream', async () => (await stream())?.state === 'open')
    proxy.requests.length = 0
    // Each sync gets a flood, so that the next one is due as early as possible.
    proxy.onSync = () => flood()
    flood()
    await until('23 syncs', () => syncs() >= 23)
    assert(syncs() <= mostSyncs(seconds()), `${syncs()} syncs in ${seconds()} s`)
    // The device makes its copies after the first sync, each with one request.
    const isCopied = (one: string) => one.startsWith('GET /api/v1/')
    const copied = proxy.requests.filter(isCopied)
    assert.equal(new Set(copied).size, copied.length)
    assert.deepEqual(
      new Set(proxy.requests.filter((one) => !isCopied(one) && !one.endsWith('/oauth/token'))),
      new Set(['GET /device/v1/changes']),
    )
    assert.equal((await stream()).state, 'open')
    assert.match(await shown(), /^Changes +arrive at once, since /m)
  })

  it('no hints: a requested sync fetches the change', async (t) => {
    const { start } = await setUp(t)
    const { call, stream } = await start(t, (res) => {
      streaming(res).write(OPEN)
    })
    await until('an open stream', async () => (await stream())?.state === 'open')
    await call('POST /api/v1/connections', { name: 'Bank' })
    assert.equal(((await call('POST /api/v1/sync')) as Json).last_sync.ok, true)
    assert.equal((await stream()).state, 'open')
  })

  it('a connection that breaks: the status has the reason', async (t) => {
    const { start } = await setUp(t)
    const { shown, stream } = await start(t, (res, attempt) => {
      if (attempt > 0) return
      streaming(res).write(OPEN, () => res.destroy())
    })
    await until('a reason', async () => (await stream())?.reason != null)
    assert.match(
      await shown(),
      /^Changes +fetched .*: The account server .* no longer connected: /m,
    )
  })

  it('endless lines, and events that never end: the device closes it after 16 MiB', async (t) => {
    const { start } = await setUp(t)
    for (const filler of ['x', 'data: x\n', ':\n', CHANGED]) {
      let sent = 0
      const { stream, close } = await start(t, (res, attempt) => {
        streaming(res).write(OPEN)
        if (attempt > 0) return
        const chunk = filler.repeat(65_536 / filler.length)
        const more = () => {
          while (!res.destroyed && res.write(chunk)) sent += chunk.length
          sent += chunk.length
        }
        res.on('drain', more)
        more()
      })
      const isOver = async () =>
        (await stream())?.reason?.endsWith(' sent more than 16777216 bytes in one stream.')
      await until('the end of the stream', isOver)
      assert(sent > 15 * MIB && sent < 32 * MIB, `${sent} bytes`)
      await close()
    }
  })

  it('a stream that opens and ends, again and again: each costs a sync, with growing waits', async (t) => {
    const { proxy, start } = await setUp(t)
    const { stream, syncs, seconds } = await start(t, (res) => streaming(res).end(OPEN))
    await until('four streams', () => proxy.streams >= 4)
    const attempts = 2 + Math.log2(1 + 2 * seconds())
    assert(proxy.streams <= attempts, `${proxy.streams} streams in ${seconds()} s`)
    assert(syncs() <= proxy.streams + 2, `${syncs()} syncs for ${proxy.streams} streams`)
    await until('a reason', async () => (await stream()).reason !== null)
  })

  it('that never beats: the device regards it as broken', async (t) => {
    const base = await listening(t, (_, res) => streaming(res).write(OPEN))
    const timeouts = { connectMs: 5_000, answerMs: 5_000, beatMs: 100 }
    const remote = openRemote({ base, ca: null, now: Date.now, timeouts })
    t.after(() => remote.close())
    const states: string[] = []
    const stream = newHintFollower({
      account: () => remote.bearer('csm_token'),
      onHint: () => states.push(stream.state().state),
      now: Date.now,
      log: () => undefined,
    })
    t.after(() => stream.stop())
    stream.start()
    await until('the end', () => states.length > 0 && !stream.isOpen())
    assert.deepEqual(states, ['open'])
    assert.match(stream.state().reason!, / sent nothing for 0\.1 seconds\.$/)
  })
})
