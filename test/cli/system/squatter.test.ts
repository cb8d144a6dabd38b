/**
 * A state folder with an owned lock while another program uses the port: exit code 9, and no
 * token is sent to that program.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as httpServer, type RequestListener } from 'node:http'
import { type AddressInfo, type Server, type Socket, createServer as tcpServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { daemonProof } from '../../../src/auth/proof.ts'
import { EXIT } from '../../../src/errors.ts'
import { STATE_VERSIONS } from '../../../src/state/migrations.ts'
import { stateSecret, writeRuntime } from '../../../src/storage/runtime-file.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { startChild } from '../../state/child.ts'
import { daemonHere, terminal } from '../terminal.ts'

interface Squatter {
  readonly address: string
  /** Returns all bytes that it received. */
  received(): string
  connections(): number
}

async function squat(t: TestContext, server: Server): Promise<Squatter> {
  let [received, connections] = ['', 0]
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    connections++
    sockets.add(socket)
    socket.on('data', (bytes) => (received += bytes.toString('latin1')))
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    address: `http://127.0.0.1:${port}`,
    received: () => received,
    connections: () => connections,
  }
}

/** Creates a state folder with its lock owned by a child process. */
async function lockedFolder(t: TestContext): Promise<string> {
  const dir = freshFolder(t)
  const holder = startChild(t, 'holder.ts', dir)
  assert.equal(await holder.line(), 'held')
  return dir
}

const point = (dir: string, address: string) =>
  writeRuntime(dir, {
    pid: process.pid,
    address,
    socket: null,
    nonce: 'nonce',
    version: '0',
    stateVersion: STATE_VERSIONS.newest,
  })

const http = (answer: (dir: string) => RequestListener) => (dir: string) => httpServer(answer(dir))
const proofHeader = (proof: string) => ({ 'Countersign-Proof': proof })

const squatters: [name: string, server: (dir: string) => Server][] = [
  ['hangs up', () => tcpServer((socket) => socket.destroy())],
  ['speaks another protocol', () => tcpServer((socket) => void socket.end('SSH-2.0-OpenSSH\r\n'))],
  ['never answers', () => tcpServer()],
  ['is a web server', http(() => (_req, res) => void res.end('{"status":"ok"}'))],
  ['asks for a token', http(() => (_req, res) => void res.writeHead(401).end())],
  [
    'redirects elsewhere',
    http(() => (_req, res) => void res.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end()),
  ],
  [
    'proves with a secret of its own',
    http(() => (req, res) => {
      const nonce = String(req.headers['countersign-nonce'])
      const address = `http://${req.headers.host}`
      res.writeHead(200, proofHeader(daemonProof(new Uint8Array(32), nonce, address))).end()
    }),
  ],
  [
    'relays the proof of the daemon from another address',
    http((dir) => (req, res) => {
      const nonce = String(req.headers['countersign-nonce'])
      const proof = daemonProof(stateSecret(dir), nonce, 'http://127.0.0.1:19821')
      res.writeHead(200, proofHeader(proof)).end()
    }),
  ],
  [
    'answers the proof of another nonce',
    http((dir) => (req, res) => {
      const proof = daemonProof(stateSecret(dir), 'another', `http://${req.headers.host}`)
      res.writeHead(200, proofHeader(proof)).end()
    }),
  ],
]

describe(
  'a locked state folder, with a program on the port of its daemon that',
  { concurrency: 9 },
  () => {
    for (const [name, server] of squatters)
      it(`${name}: exit code 9, and no token is sent`, async (t) => {
        const dir = await lockedFolder(t)
        const squatter = await squat(t, server(dir))
        point(dir, squatter.address)
        const env = { SVC_TOKEN: 'csd_canary' }
        const create = (more: object) => terminal(dir)(['guest', 'create', '--label', 'x'], more)
        for (const { code, out, err } of await Promise.all([create({}), create({ env })])) {
          assert.deepEqual([code, out], [EXIT.daemonSilent, ''], err)
          assert.match(err, /uses this state folder, but does not answer as its daemon/)
        }
        assert.doesNotMatch(squatter.received(), /authorization|csd_|guest/i)
        assert.equal(squatter.connections(), 2, 'it was asked, once each time')
      })

    it('proves itself and hangs up: the token is not sent on a second connection', async (t) => {
      const dir = await lockedFolder(t)
      const squatter = await squat(
        t,
        httpServer((req, res) => {
          const nonce = String(req.headers['countersign-nonce'])
          const proof = daemonProof(stateSecret(dir), nonce, `http://${req.headers.host}`)
          res.writeHead(200, { ...proofHeader(proof), Connection: 'close' }).end()
        }),
      )
      point(dir, squatter.address)
      const { code } = await terminal(dir)(['status'])
      assert.equal(code, EXIT.daemonSilent)
      assert.doesNotMatch(squatter.received(), /authorization|csd_/i)
      assert.equal(squatter.connections(), 1)
    })
  },
)

describe('a locked state folder', () => {
  it('without runtime.json: exit code 9', async (t) => {
    const { code, out } = await terminal(await lockedFolder(t))(['status', '--json'])
    assert.deepEqual([code, out], [EXIT.daemonSilent, ''])
  })

  it('with an unused port in its runtime.json: exit code 9', async (t) => {
    const dir = await lockedFolder(t)
    const server = tcpServer()
    const { address } = await squat(t, server)
    server.close()
    await once(server, 'close')
    point(dir, address)
    assert.equal((await terminal(dir)(['status'])).code, EXIT.daemonSilent)
  })

  it('of a running daemon: the token is sent to it', async (t) => {
    const dir = freshFolder(t)
    const daemon = await daemonHere(dir)
    t.after(() => daemon.close())
    assert.equal((await terminal(dir)(['status'])).code, EXIT.ok)
  })
})
