/**
 * Downloads of a file from a remote account server: which certificates are accepted, and the
 * timeouts.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type RequestListener, type Server, createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { download } from '../../src/remote/download.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { rejects } from '../rejects.ts'

const type = 'application/zip'
const whole: RequestListener = (_, res) =>
  void res.writeHead(200, { 'Content-Type': type, 'Content-Length': 5 }).end('bytes')

async function listening(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function textOf(of: Parameters<typeof download>[0]): Promise<string> {
  const file = await download(of)
  let text = ''
  try {
    for await (const some of file.bytes) text += Buffer.from(some).toString()
    return text
  } finally {
    file.close()
  }
}

describe('over TLS', () => {
  /** Starts a server with a self-signed certificate. */
  async function secure(t: TestContext) {
    const folder = freshFolder(t)
    const made =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x -addext subjectAltName=IP:127.0.0.1 -keyout key -out pem'
    execFileSync('openssl', made.split(' '), { stdio: 'pipe', cwd: folder })
    const [key, cert] = ['key', 'pem'].map((name) => readFileSync(join(folder, name), 'utf8'))
    const server = createSecureServer({ key: key!, cert: cert! }, whole)
    return { url: `https://127.0.0.1:${await listening(t, server)}/exports/x`, ca: cert! }
  }

  test('the given authority is trusted', async (t) => {
    assert.equal(await textOf({ ...(await secure(t)), type }), 'bytes')
  })

  test('no other is', async (t) => {
    const { url } = await secure(t)
    await rejects('backend_error', textOf({ url, ca: null, type }), {
      says: /not signed by an authority that is trusted here.*SVC_CA_FILE/,
    })
  })

  test('an authority file without a certificate is reported', async (t) => {
    const { url } = await secure(t)
    await assert.rejects(textOf({ url, ca: 'no PEM', type }), /SVC_CA_FILE contains no certificate/)
  })
})

test('no server at the address', async (t) => {
  const server = createServer(whole)
  const port = await listening(t, server)
  server.close()
  await once(server, 'close')
  const url = `http://127.0.0.1:${port}/exports/x`
  await rejects('backend_unavailable', textOf({ url, ca: null, type }))
})

for (const [what, respond] of [
  ['before the answer', () => undefined],
  [
    'in the middle of the file',
    (_, res) => void res.writeHead(200, { 'Content-Type': type, 'Content-Length': 9 }).write('by'),
  ],
] as [string, RequestListener][])
  test(`silence ${what} ends the download`, async (t) => {
    const port = await listening(t, createServer(respond))
    const url = `http://127.0.0.1:${port}/exports/x`
    await rejects('backend_timeout', textOf({ url, ca: null, type, silenceMs: 100 }))
  })
