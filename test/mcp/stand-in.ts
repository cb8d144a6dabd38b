/**
 * A stand-in at the daemon’s address of a state folder: it proves to be that daemon, or does not.
 */
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { daemonProof } from '../../src/auth/proof.ts'
import { STATE_VERSIONS } from '../../src/state/migrations.ts'
import { stateSecret, writeRuntime } from '../../src/storage/runtime-file.ts'

export interface StandIn {
  /** The requests after the proof, each with its token. */
  readonly asked: readonly { readonly path: string; readonly authorization: string | undefined }[]
  /** Waits for the next request. */
  next(): Promise<void>
  /** Waits until no connection is open. */
  left(): Promise<void>
}

/**
 * Starts a stand-in that answers with `answer`, and by default proves itself with the secret of
 * the folder.
 */
export async function standIn(
  t: TestContext,
  stateDir: string,
  answer: (req: IncomingMessage, res: ServerResponse) => void,
  proven = true,
): Promise<StandIn> {
  const asked: { path: string; authorization: string | undefined }[] = []
  let open = 0
  const server = createServer((req, res) => {
    const nonce = req.headers['countersign-nonce']
    if (typeof nonce === 'string') {
      const proof = daemonProof(
        proven ? stateSecret(stateDir) : new Uint8Array(32),
        nonce,
        `http://${req.headers.host}`,
      )
      res.writeHead(200, { 'Countersign-Proof': proof }).end('{}')
      return
    }
    asked.push({ path: String(req.url), authorization: req.headers.authorization })
    answer(req, res)
    server.emit('asked')
  }).listen(0, '127.0.0.1')
  server.on('connection', (socket) => {
    open++
    socket.once('close', () => {
      open--
      server.emit('closed')
    })
  })
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  writeRuntime(stateDir, {
    pid: process.pid,
    address: `http://127.0.0.1:${port}`,
    socket: null,
    nonce: 'nonce',
    version: '0',
    stateVersion: STATE_VERSIONS.newest,
  })
  return {
    asked,
    async next() {
      await once(server, 'asked')
    },
    async left() {
      while (open > 0) await once(server, 'closed')
    },
  }
}
