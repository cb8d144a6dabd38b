/** The client on a faulty network: no listener, half an answer, silence, unknown certificates. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, after, before, describe, test } from 'node:test'
import { StartError } from '../../src/errors.ts'
import { openRemote } from '../../src/remote/remote.ts'
import { CLOCK, clientAt, json, scripted } from './scripted.ts'
import { rejects } from '../rejects.ts'
import { freePort } from '../free-port.ts'

/** Starts a TCP server; `serve` handles each connection. */
async function bytes(t: TestContext, serve: (socket: Socket, n: number) => void) {
  const sockets = new Set<Socket>()
  let n = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    serve(socket, n++)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => n }
}

const LONG = { connectMs: 30_000, answerMs: 30_000 }
const HALF =
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"now"'

describe('an unreachable server', () => {
  test('no listener', async (t) => {
    const remote = clientAt(t, `http://127.0.0.1:${await freePort()}`)
    await rejects('backend_unavailable', remote.door().clock.read({}), {
      says: /cannot be reached/,
    })
    assert.equal(remote.waits.length, 3)
  })

  test('an unknown host name', async (t) => {
    const remote = clientAt(t, 'https://countersign.invalid')
    await rejects('backend_unavailable', remote.door().clock.read({}), {
      says: /cannot be resolved.*SVC_BACKEND_URL/,
    })
  })

  const cut: [name: string, serve: (socket: Socket) => void][] = [
    ['the request is read and the connection closed', (s) => s.once('data', () => s.end())],
    [
      'the request is read and the connection reset',
      (s) => s.once('data', () => s.resetAndDestroy()),
    ],
    ['half a head', (s) => s.once('data', () => s.end('HTTP/1.1 200 OK\r\nContent-Ty'))],
    ['half a body', (s) => s.once('data', () => s.end(HALF))],
    [
      'half a body, and a reset',
      (s) => s.once('data', () => s.write(HALF, () => s.resetAndDestroy())),
    ],
    [
      'half a chunk',
      (s) =>
        s.once('data', () =>
          s.end(
            'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"now"',
          ),
        ),
    ],
  ]
  for (const [name, serve] of cut)
    test(`broken connection: ${name}`, async (t) => {
      const server = await bytes(t, serve)
      const { clock } = clientAt(t, `http://${server.host}`).door()
      await rejects('backend_unavailable', clock.read({}), { says: /closed the connection|HTTP/ })
      assert.equal(server.connections(), 4)
    })

  test('a stale kept connection is replaced', async (t) => {
    const server = await scripted(t, (res, _, n) => {
      if (n === 0) res.once('finish', () => res.socket?.resetAndDestroy())
      json(res, 200, CLOCK)
    })
    const { clock } = clientAt(t, server.base).door()
    await clock.read({})
    assert.deepEqual(await clock.read({}), CLOCK)
  })
})

describe('silence', () => {
  const silent: [name: string, serve: (socket: Socket) => void][] = [
    ['no head', (s) => s.resume()],
    ['half a head', (s) => s.once('data', () => s.write('HTTP/1.1 200 OK\r\n'))],
    ['half a body', (s) => s.once('data', () => s.write(HALF))],
    [
      'a byte now and then',
      (s) => {
        s.once('data', () => s.write(HALF))
        const drip = setInterval(() => s.write(' '), 20)
        s.once('close', () => clearInterval(drip))
      },
    ],
  ]
  for (const [name, serve] of silent)
    test(name, async (t) => {
      const server = await bytes(t, serve)
      const remote = clientAt(t, `http://${server.host}`, {
        timeouts: { ...LONG, answerMs: 100 },
      })
      await rejects('backend_timeout', remote.door().clock.read({}), {
        says: /did not answer in time/,
      })
      assert.equal(server.connections(), 1, 'it is asked once')
    })

  test('no TLS handshake', async (t) => {
    const server = await bytes(t, (socket) => socket.resume())
    const remote = clientAt(t, `https://${server.host}`, { timeouts: { ...LONG, connectMs: 100 } })
    await rejects('backend_timeout', remote.door().clock.read({}), {
      says: /could not be reached in time/,
    })
  })

  test('an answer leaves no timer behind', async (t) => {
    const { base } = await scripted(t, (res) => json(res, 200, CLOCK))
    const { clock } = clientAt(t, base, { timeouts: LONG }).door()
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    await clock.read({})
    assert.equal(timers(), before)
  })

  test('close ends waiting requests', async (t) => {
    const asked = Promise.withResolvers<void>()
    const { host } = await bytes(t, (socket) => socket.once('data', () => asked.resolve()))
    const remote = clientAt(t, `http://${host}`, { timeouts: LONG })
    const failed = rejects('backend_unavailable', remote.door().clock.read({}), { says: /ending/ })
    await asked.promise
    remote.close()
    await failed
  })

  test('close ends the wait before another attempt', async () => {
    const remote = openRemote({
      base: `http://127.0.0.1:${await freePort()}`,
      ca: null,
      now: Date.now,
      wait: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
          setImmediate(() => remote.close())
        }),
    })
    await rejects('backend_unavailable', remote.door().clock.read({}), { says: /ending/ })
  })
})

describe('the address of a server', () => {
  const refused = [
    'http://example.org',
    'http://192.168.1.5:19822',
    'http://127.0.0.1.example.org',
    'http://[::2]',
    'ftp://127.0.0.1',
    'https://example.org/path',
    'https://example.org?x',
    'https://u:p@example.org',
    'example.org',
    '',
  ]
  for (const base of refused)
    test(`rejects ${base}`, () => {
      assert.throws(
        () => openRemote({ base, ca: null, now: Date.now }),
        (error) => error instanceof StartError && !error.message.includes('u:p@'),
      )
    })
  for (const base of ['http://localhost:1', 'http://127.8.0.1', 'http://[::1]:80', 'https://a.b/'])
    test(`accepts ${base}`, () => openRemote({ base, ca: null, now: Date.now }).close())
})

describe('certificates', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-tls-'))
    const openssl = (args: string) =>
      execFileSync('openssl', args.split(' '), { stdio: 'pipe', cwd: folder })
    const made = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
    for (const ca of ['ca', 'other'])
      openssl(`req -x509 ${made} -subj /CN=${ca} -days 2 -keyout ${ca}.key -out ${ca}.pem`)
    const issue = (name: string, san: string, days = 2) => {
      const subject = `-subj /CN=${name} -addext subjectAltName=${san}`
      openssl(`req ${made} ${subject} -keyout ${name}.key -out ${name}.csr`)
      const signed = `-CA ca.pem -CAkey ca.key -copy_extensions copy -days ${days}`
      openssl(`x509 -req -in ${name}.csr ${signed} -out ${name}.pem`)
    }
    issue('good', 'IP:127.0.0.1')
    issue('named', 'DNS:countersign.example')
    issue('old', 'IP:127.0.0.1', -1)
  })
  after(() => rmSync(folder, { recursive: true }))
  const pem = (name: string) => readFileSync(join(folder, name), 'utf8')
  const serverWith = (t: TestContext, name: string) =>
    scripted(t, (res) => json(res, 200, CLOCK), {
      key: pem(`${name}.key`),
      cert: pem(`${name}.pem`),
    })

  test('the given authority is trusted, on a kept connection too', async (t) => {
    const server = await serverWith(t, 'good')
    const { clock } = clientAt(t, server.base, { ca: pem('ca.pem') }).door()
    assert.deepEqual(await clock.read({}), CLOCK)
    assert.deepEqual(await clock.read({}), CLOCK)
    assert.equal(server.connections(), 1)
  })

  test('one authority among several in the file works', async (t) => {
    const { base } = await serverWith(t, 'good')
    const ca = pem('other.pem') + pem('ca.pem')
    assert.deepEqual(await clientAt(t, base, { ca }).door().clock.read({}), CLOCK)
  })

  const cases: [name: string, cert: string, ca: string | null, says: RegExp][] = [
    [
      'no authority given',
      'good',
      null,
      /not signed by an authority that is trusted here.*SVC_CA_FILE/,
    ],
    [
      'another authority',
      'good',
      'other.pem',
      /not signed by an authority that is trusted here.*SVC_CA_FILE/,
    ],
    [
      'a self-signed certificate',
      'other',
      'ca.pem',
      /not signed by an authority that is trusted here/,
    ],
    ['a certificate for another name', 'named', 'ca.pem', /is for another name.*SVC_BACKEND_URL/],
    ['expired', 'old', 'ca.pem', /has expired/],
  ]
  for (const [name, cert, ca, says] of cases)
    test(name, async (t) => {
      const { base, seen } = await serverWith(t, cert)
      const remote = clientAt(t, base, { ca: ca === null ? null : pem(ca) })
      const failed = remote.door().clock.read({})
      await rejects('backend_error', failed, { says })
      assert.deepEqual([seen.length, remote.waits.length], [0, 0], 'nothing was sent')
    })

  test('https to an http server', async (t) => {
    const { base } = await scripted(t, (res) => json(res, 200, CLOCK))
    const remote = clientAt(t, base.replace('http:', 'https:'))
    await rejects('backend_error', remote.door().clock.read({}), {
      says: /does not speak TLS.*SVC_BACKEND_URL/,
    })
  })

  test('http to an https server', async (t) => {
    const { base } = await serverWith(t, 'good')
    const remote = clientAt(t, base.replace('https:', 'http:'))
    await rejects('backend_unavailable', remote.door().clock.read({}), {
      says: /closed the connection/,
    })
  })

  test('a file that holds no certificate', () => {
    for (const ca of ['', 'garbage', pem('ca.key')])
      assert.throws(
        () => openRemote({ base: 'https://a.example', ca, now: Date.now }),
        (error) =>
          error instanceof StartError &&
          error.message.includes('SVC_CA_FILE') &&
          !error.message.includes('PRIVATE'),
      )
  })
})
