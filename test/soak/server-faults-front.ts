/** What stands before an account server and, when a test says so, answers in its place as no server should. */
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'

/** Answers a request that was read whole; `real` is what the server said to it, asked when it is called. */
type Answer = (res: ServerResponse, real: () => Promise<Real>) => unknown

interface Real {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export interface Front {
  readonly url: string
  /** The port of the real server. */
  to: number
  /** How it answers now; null as the real server does. */
  fault: Answer | null
  /** How many requests got a faulty answer. */
  readonly spoilt: () => number
}

const JSON_TYPE = { 'Content-Type': 'application/json' }
const MIB = Buffer.alloc(1024 * 1024, ' ')
const MEMBER = gzipSync(Buffer.alloc(16 * 1024 * 1024))
/** As much as one answer is read of, and a lot more. */
const ENDLESS = 10 * 1024

/** Write until the other side has gone, or ten gibibytes were written. */
function pour(res: ServerResponse): void {
  let written = 0
  const more = () => {
    while (!res.destroyed && written++ < ENDLESS) if (!res.write(MIB)) return
    res.end()
  }
  res.on('drain', more)
  more()
}

/** A byte now and a byte then, for as long as somebody listens. */
function drip(res: ServerResponse, text: string): void {
  const bytes = text.split('')
  const next = () => {
    const byte = bytes.shift()
    if (res.socket?.destroyed !== false || byte === undefined) return
    res.socket.write(byte)
    setTimeout(next, 1000).unref()
  }
  next()
}

const raw = (text: string): Answer => {
  return (res) => res.socket?.end(text)
}
const json =
  (status: number, value: unknown): Answer =>
  (res) =>
    res.writeHead(status, JSON_TYPE).end(JSON.stringify(value))

export interface Fault {
  readonly name: string
  readonly answer: Answer
  /** What a caller is told. */
  readonly code: 'backend_error' | 'backend_unavailable' | 'backend_timeout'
  /** Takes as long as patience lasts. */
  readonly isSlow?: true
  /** Another does the same to whoever reads it, in less time: it comes in the full size only. */
  readonly isLike?: string
  /** It is an object in JSON, as some row may want it. */
  readonly isObject?: true
  /** A busy machine may not read as much of it in time as is too much. */
  readonly orLate?: true
}

const HALF = '{"items":[{"id":"con_'

/** Every way to answer wrong. */
export const FAULTS: readonly Fault[] = [
  { name: 'closes at once', answer: (res) => res.socket?.destroy(), code: 'backend_unavailable' },
  {
    name: 'closes after half the header',
    answer: raw('HTTP/1.1 200 OK\r\nContent-Ty'),
    code: 'backend_unavailable',
    isLike: 'closes after half the body',
  },
  {
    name: 'closes after half the body',
    answer: raw(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n${HALF}`,
    ),
    code: 'backend_unavailable',
  },
  {
    name: 'does it and closes',
    answer: async (res, real) => {
      await real()
      res.socket?.destroy()
    },
    code: 'backend_unavailable',
  },
  {
    name: 'does it and says half',
    answer: async (res, real) => {
      const { status, body } = await real()
      res.writeHead(status, { ...JSON_TYPE, 'Content-Length': body.length + 9 })
      res.write(body.subarray(0, body.length / 2), () => res.socket?.destroy())
    },
    code: 'backend_unavailable',
  },
  {
    name: 'breaks its JSON off',
    answer: (res) => res.writeHead(200, JSON_TYPE).end(HALF),
    code: 'backend_error',
  },
  {
    name: 'answers another form',
    answer: json(200, { items: 'none', words: 7 }),
    code: 'backend_error',
    isObject: true,
  },
  { name: 'answers a list', answer: json(201, [1, 2]), code: 'backend_error' },
  {
    name: 'answers bytes that are no text',
    answer: (res) => res.writeHead(200, JSON_TYPE).end(Buffer.from([0xff, 0xfe, 0])),
    code: 'backend_error',
  },
  {
    name: 'answers without end',
    answer: (res) => pour(res.writeHead(200, JSON_TYPE)),
    code: 'backend_error',
    orLate: true,
  },
  {
    name: 'answers a gibibyte in a mebibyte',
    answer: (res) => res.writeHead(200, { ...JSON_TYPE, 'Content-Encoding': 'gzip' }).end(BOMB),
    code: 'backend_error',
  },
  {
    name: 'leads elsewhere',
    answer: (res) => res.writeHead(307, { Location: 'https://example.org/' }).end(),
    code: 'backend_error',
  },
  {
    name: 'fails with a page',
    answer: (res) => res.writeHead(500, { 'Content-Type': 'text/html' }).end('<h1>Oops</h1>'),
    code: 'backend_error',
  },
  {
    name: 'is not ready',
    answer: (res) => res.writeHead(503, { 'Content-Type': 'text/html' }).end('<h1>Later</h1>'),
    code: 'backend_unavailable',
  },
  {
    name: 'speaks another protocol',
    answer: raw('220 mail.example.org ESMTP\r\n'),
    code: 'backend_error',
  },
  { name: 'never answers', answer: () => undefined, code: 'backend_timeout', isSlow: true },
  {
    name: 'answers a byte a second',
    answer: (res) => drip(res, 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}'),
    code: 'backend_timeout',
    isSlow: true,
    isLike: 'never answers',
  },
]

/** What a mebibyte can become: members of a gzip follow each other (RFC 1952 section 2.2). */
const BOMB = Buffer.concat(Array<Buffer>(64).fill(MEMBER))

export async function startFront(t: TestContext): Promise<Front> {
  let spoilt = 0

  async function asked({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Real> {
    const onward = request({ host: '127.0.0.1', port: front.to, method, path: url, headers })
    onward.end(body)
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await buffer(answer) }
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await buffer(req)
    if (front.fault !== null) {
      spoilt++
      await front.fault(res, () => asked(req, body))
      return
    }
    const real = await asked(req, body)
    res.writeHead(real.status, real.headers).end(real.body)
  }

  const server = createServer((req, res) => {
    res.on('error', () => undefined)
    serve(req, res).catch(() => res.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const front: Front = { url, to: 0, fault: null, spoilt: () => spoilt }
  return front
}
