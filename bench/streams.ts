/**
 * Measures what open streams of hints cost an account server on PostgreSQL: the memory of each,
 * beside an event stream of bare node:http in the same run, the processor time while nothing
 * changes, and the time from the request for a change to the hint while 50 changes are made each
 * second. Linux only.
 *
 *   npm run bench:streams            5,000 streams
 *   npm run bench:streams -- 20000   another number
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openServiceDatabase } from '../test/service/database.ts'
import { freePort } from '../test/free-port.ts'
import { startPostgres } from '../test/service/postgres.ts'
import { proofBy } from '../test/service/proof.ts'
import { median, quantile, say } from './figures.ts'
import { load } from './load.ts'
import { KEY, fillWithMix, personOf } from './mix-rows.ts'
import {
  cpuMs,
  listening,
  rssMib,
  spawnAccountServer,
  spawnBare,
  type Program,
} from './programs.ts'

const STREAMS = 5_000
/** How many streams are being opened at the same time. */
const OPENING = 50
/** How many streams are opened and closed before, so that both servers have run for a while. */
const WARM_UP = 500
/** How long a server rests before its memory is read, in milliseconds: V8 frees it by then. */
const SETTLING_MS = 40_000
/**
 * How long the streams rest before the processor time is read, and how long it is read, in
 * milliseconds. Within the first minute V8 collects the garbage of the opening.
 */
const RESTING_MS = 60_000
const CHANGES = 1_000
const CHANGE_EVERY_MS = 20

/** An open stream; `onEvent` is called with each chunk after the first. */
interface Stream {
  readonly socket: Socket
  onEvent: (text: string) => void
}

/** Opens a stream. Resolves when its first event, or its first comment, has arrived. */
async function openStream(port: number, request: string, first: RegExp): Promise<Stream> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect({ host: '127.0.0.1', port }).setEncoding('latin1')
  const stream: Stream = { socket, onEvent: () => undefined }
  let head = ''
  socket.once('error', reject).once('close', () => reject(new Error('a stream was closed')))
  socket.on('data', (text: string) => {
    if (head === '' || !first.test(head)) {
      head += text
      if (first.test(head)) resolve()
      else if (!head.startsWith('HTTP/1.1 200')) reject(new Error(head.slice(0, 300)))
    } else stream.onEvent(text)
  })
  socket.write(request)
  await promise
  return stream
}

type RequestOf = (n: number) => Promise<string> | string

function closeAll(streams: readonly Stream[]): void {
  for (const { socket } of streams) socket.removeAllListeners('close').destroy()
}

/** Opens many streams, some at a time. */
async function openAll(
  count: number,
  port: number,
  requestOf: RequestOf,
  first: RegExp,
): Promise<Stream[]> {
  const streams: Stream[] = []
  for (let n = 0; n < count; n += OPENING) {
    const numbers = Array.from({ length: Math.min(OPENING, count - n) }, (_, i) => n + i)
    const open = async (i: number) => openStream(port, await requestOf(i), first)
    streams.push(...(await Promise.all(numbers.map(open))))
  }
  return streams
}

/**
 * Opens many streams at a server that has had some before. Returns the memory of each, and how long
 * opening all took.
 */
async function measured(
  count: number,
  { port, process: { pid } }: Program,
  requestOf: RequestOf,
  first: RegExp,
): Promise<{ streams: Stream[]; kibEach: number; seconds: number }> {
  closeAll(await openAll(WARM_UP, port, (n) => requestOf(n % count), first))
  await setTimeout(SETTLING_MS)
  const before = rssMib(pid!)
  const began = performance.now()
  const streams = await openAll(count, port, requestOf, first)
  const seconds = (performance.now() - began) / 1000
  await setTimeout(SETTLING_MS)
  return { streams, kibEach: ((rssMib(pid!) - before) * 1024) / count, seconds }
}

const closers: (() => unknown)[] = []

async function main(count: number): Promise<void> {
  const bare = spawnBare(await freePort(), 'streams')
  closers.push(() => bare.stop())
  await listening(bare)
  const plain = await measured(
    count,
    bare,
    () => `GET / HTTP/1.1\r\nHost: 127.0.0.1:${bare.port}\r\n\r\n`,
    /:\n\n/,
  )
  closeAll(plain.streams)
  await bare.stop()

  const postgres = await startPostgres()
  closers.push(() => postgres.stop())
  const url = await postgres.newDatabase()
  await (await openServiceDatabase({ url, file: '' })).close()
  await fillWithMix(url, { accounts: count, connections: 2, at: Date.now() })
  const [port, stateDir] = [await freePort(), mkdtempSync(join(tmpdir(), 'countersign-streams-'))]
  const server = spawnAccountServer(port, stateDir, url)
  closers.push(
    () => rmSync(stateDir, { recursive: true }),
    () => server.stop(),
  )
  await listening(server)
  const pid = server.process.pid!
  const origin = `http://127.0.0.1:${port}`
  let nonce = ''
  const readNonce = async () => {
    const { token } = personOf(0)
    const headers = { DPoP: 'none', Authorization: `DPoP ${token}` }
    const refused = await fetch(`${origin}/device/v1/changes`, { headers })
    nonce = refused.headers.get('dpop-nonce') ?? ''
  }
  const requestOf = (n: number, method: string, path: string, body = '') => {
    const { token } = personOf(n)
    const at = Math.floor(Date.now() / 1000)
    const proof = proofBy(KEY, { method, url: origin + path, at, accessToken: token, nonce })
    const lines = [
      `${method} ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      `DPoP: ${proof}`,
      `Authorization: DPoP ${token}`,
      ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
    ]
    return `${lines.join('\r\n')}\r\n\r\n${body}`
  }
  const rename = (n: number) =>
    requestOf(
      n,
      'PATCH',
      `/api/v1/connections/${personOf(n).connection}`,
      JSON.stringify({ name: `A friend ${crypto.randomUUID()}` }),
    )
  // As in a server that has run for a while.
  await readNonce()
  for (let n = 0; n < 500; n++) await load(port, () => rename(n % count), 1, { connections: 1 })
  const hinted = await measured(
    count,
    server,
    async (n) => {
      if (n % 1_000 === 0) await readNonce()
      return requestOf(n, 'GET', '/device/v1/hints')
    },
    /event: open\n/,
  )
  say(`memory of a stream: ${hinted.kibEach.toFixed(1)} KiB, bare ${plain.kibEach.toFixed(1)} KiB`)
  say(
    `${count} streams opened in ${hinted.seconds.toFixed(1)} s, bare ${plain.seconds.toFixed(1)} s`,
  )
  say(`ours ÷ bare: ${(hinted.kibEach / plain.kibEach).toFixed(2)}`)

  await setTimeout(RESTING_MS)
  const before = cpuMs(pid)
  await setTimeout(RESTING_MS)
  const share = (100 * (cpuMs(pid) - before)) / RESTING_MS
  say(`${count} streams at rest: ${share.toFixed(2)} % of a core`)

  await readNonce()
  const latencies: number[] = []
  const making: Promise<unknown>[] = []
  // Each stream gets one change, so that a hint is never that of an earlier change.
  const changes = Math.min(CHANGES, count)
  for (let n = 0; n < changes; n++) {
    const began = performance.now()
    const { promise, resolve } = Promise.withResolvers<void>()
    hinted.streams[n]!.onEvent = (text) => {
      if (!text.includes('event: changed')) return
      latencies.push(performance.now() - began)
      resolve()
    }
    making.push(
      promise,
      load(port, () => rename(n), 1, { connections: 1 }),
    )
    await setTimeout(CHANGE_EVERY_MS)
  }
  await Promise.all(making)
  const p99 = quantile(latencies, 0.99)
  say(
    `${changes} changes, 50 a second: hint after ${median(latencies).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
  )
  closeAll(hinted.streams)
}

let code = 0
try {
  await main(Number(process.argv[2] ?? STREAMS))
} catch (error) {
  console.error(error)
  code = 1
}
for (const close of closers.toReversed()) await close()
// Explicit, since the PostgreSQL package otherwise ends the process with its own exit code, also
// after an error.
process.exit(code)
