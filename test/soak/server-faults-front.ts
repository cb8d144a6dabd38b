/**
 * A front before an account server that gives faulty answers in its place when a test sets a
 * fault.
 */
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'

/** Answers a complete request; `real` forwards it and returns the real server’s answer. */
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
  /** The present fault; null to answer as the real server does. */
  fault: Answer | null
  /** Returns the number of faulty answers. */
  readonly damaged: () => number
}

const JSON_TYPE = { 'Content-Type': 'application/json' }
const MIB = Buffer.alloc(1024 * 1024, ' ')
const MEMBER = gzipSync(Buffer.alloc(16 * 1024 * 1024))
/** Far more than the client reads of one answer, in MiB. */
const ENDLESS = 10 * 1024

/** Writes until the client has closed, or ten gibibytes were written. */
function pour(res: ServerResponse): void {
  let written = 0
  const more = () => {
    while (!res.destroyed && written++ < ENDLESS) if (!res.write(MIB)) return
    res.end()
  }
  res.on('drain', more)
  more()
}

/** Writes one byte at a time as long as the client reads. */
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
  /** The error code for the caller. */
  readonly code: 'backend_error' | 'backend_unavailable' | 'backend_timeout'
  /** Takes as long as the client’s timeout. */
  readonly isSlow?: true
  /** Another fault has the same effect in less time: this one runs in the full size only. */
  readonly isLike?: string
  /** The answer is a JSON object, which some row may accept. */
  readonly isObject?: true
  /** On a busy machine the timeout may end it before the size limit does. */
  readonly orLate?: true
}

const HALF = '{"items":[{"id":"con_'

/** Every kind of faulty answer. */
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
    name: 'executes and closes',
    answer: async (res, real) => {
      await real()
      res.socket?.destroy()
    },
    code: 'backend_unavailable',
  },
  {
    name: 'executes and answers half',
    answer: async (res, real) => {
      const { status, body } = await real()
      res.writeHead(status, { ...JSON_TYPE, 'Content-Length': body.length + 9 })
      res.write(body.subarray(0, body.length / 2), () => res.socket?.destroy())
    },
    code: 'backend_unavailable',
  },
  {
    name: 'breaks off its JSON',
    answer: (res) => res.writeHead(200, JSON_TYPE).end(HALF),
    code: 'backend_error',
  },
  {
    name: 'answers in another form',
    answer: json(200, { items: 'none', words: 7 }),
    code: 'backend_error',
    isObject: true,
  },
  { name: 'answers a list', answer: json(201, [1, 2]), code: 'backend_error' },
  {
    name: 'answers bytes that are not text',
    answer: (res) => res.writeHead(200, JSON_TYPE).end(Buffer.from([0xff, 0xfe, 0])),
    code: 'backend_error',
  },
  {
    name: 'answers endlessly',
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
    name: 'redirects elsewhere',
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

/**
 * Many mebibytes in a small answer: the members of a gzip follow each other (RFC 1952 section
 * 2.2).
 */
const BOMB = Buffer.concat(Array<Buffer>(64).fill(MEMBER))

export async function startFront(t: TestContext): Promise<Front> {
  let damaged = 0

  async function asked({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Real> {
    const onward = request({ host: '127.0.0.1', port: front.to, method, path: url, headers })
    onward.end(body)
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await buffer(answer) }
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await buffer(req)
    if (front.fault !== null) {
      damaged++
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
  const front: Front = { url, to: 0, fault: null, damaged: () => damaged }
  return front
}
