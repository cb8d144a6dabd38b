/** Tests who is given a token: processes of this user, and of no other user of this machine. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { CODES, newCode, newPage, ownHeaders, SESSION } from '../console/page.ts'
import { startDaemon } from '../daemon.ts'
import {
  CLOSE,
  JSON_TYPE,
  NEW_TOKEN,
  daemon,
  only,
  portOf,
  refused,
  withDaemon,
} from './guarding.ts'
import { answersIn, hostOf } from './raw.ts'
import { TEST_LIMIT_MS } from '../limit.ts'

withDaemon()

describe(
  'the token route and other users of this machine',
  { skip: process.platform !== 'linux' && 'Linux only' },
  () => {
    const NOBODY = 65_534
    const mint = (address: string) =>
      [
        `POST /api/v1/token HTTP/1.1`,
        `Host: ${hostOf(address)}`,
        CLOSE,
        JSON_TYPE,
        `Content-Length: ${NEW_TOKEN.length}`,
        '',
        NEW_TOKEN,
      ].join('\r\n')

    /** Returns the answer that a process of another user gets. */
    async function asNobody(
      address: string,
      path: string,
      body = '',
      more: Record<string, string> = {},
    ): Promise<string> {
      const script = `
      const [, address, path, body, more] = process.argv
      const headers = { 'Content-Type': 'application/json', ...JSON.parse(more) }
      const req = require('node:http').request(address + path, { method: body ? 'POST' : 'GET', headers }, (res) => {
        process.stdout.write(res.statusCode + ' ')
        res.pipe(process.stdout)
      })
      req.end(body)`
      const args = ['-e', script, address, path, body, JSON.stringify(more)]
      const child = spawn(process.execPath, args, { uid: NOBODY, gid: NOBODY, cwd: '/', env: {} })
      child.stdout.setEncoding('utf8')
      let text = ''
      child.stdout.on('data', (chunk: string) => (text += chunk))
      await once(child, 'close')
      return text
    }
    const asRoot = { skip: process.getuid?.() !== 0 && 'needs root' }

    test('another user → 403 peer_not_allowed', asRoot, async () => {
      const text = await asNobody(daemon.address, '/api/v1/token', NEW_TOKEN)
      assert.match(text, /^403 .*"peer_not_allowed"/)
      assert(!text.includes('csd_'))
    })

    test('another user gets no console, and ends none', asRoot, async () => {
      const page = newPage(daemon)
      await page.open()
      const { code } = await newCode(daemon)
      const own = ownHeaders(daemon.address)
      const worker = { ...own, 'Service-Worker': 'script' }
      for (const [path, body, headers] of [
        [CODES, '{}', {}],
        [SESSION, JSON.stringify({ code }), own],
      ] as const)
        assert.match(
          await asNobody(daemon.address, path, body, headers),
          /^403 .*"peer_not_allowed"/,
        )
      for (let i = 0; i < 5; i++)
        await asNobody(daemon.address, SESSION, JSON.stringify({ code: 'wrong' }), own)
      assert.match(await asNobody(daemon.address, '/sw.js', '', worker), /^403 /)
      assert.equal((await page.send('GET', '/api/v1/status')).status, 200)
      const exchanged = await newPage(daemon).send('POST', SESSION, { body: { code } })
      assert.equal(exchanged.status, 201)
    })

    test('another user can use all other routes', asRoot, async () => {
      assert.match(await asNobody(daemon.address, '/health'), /^200 /)
      assert.match(await asNobody(daemon.address, '/api/v1/status'), /^401 /)
    })

    test('SVC_TOKEN_USERS admits other users', asRoot, async () => {
      for (const users of [String(NOBODY), 'daemon,nobody', 'any']) {
        const open = await startDaemon({ SVC_TOKEN_USERS: users })
        assert.match(await asNobody(open.address, '/api/v1/token', NEW_TOKEN), /^201 .*csd_/)
        await open.close()
      }
    })

    test('a client that speaks IPv4 through an IPv6 socket, as Java does, is recognised', async () => {
      const socket = connect({ host: '::ffff:127.0.0.1', port: Number(portOf(daemon.address)) })
      const chunks: Buffer[] = []
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.write(mint(daemon.address))
      await once(socket, 'close')
      assert.equal(only(answersIn(Buffer.concat(chunks).toString())).status, 201)
    })

    for (const how of ['half-closed', 'closed'] as const)
      test(`a client that has ${how} its socket gets no token`, async () => {
        const full = await daemon.token('full')
        const count = async () => {
          const { json } = await daemon.request('GET', '/api/v1/api-tokens?limit=200', {
            token: full,
          })
          return (json as { items: unknown[] }).items.length
        }
        const before = await count()
        // Blocks this thread, and with it the daemon, until the client of the other thread has
        // closed.
        const flag = new Int32Array(new SharedArrayBuffer(4))
        const script = `
        const { workerData: { flag, port, bytes, how }, parentPort } = require('node:worker_threads')
        const raise = () => { Atomics.store(flag, 0, 1); Atomics.notify(flag, 0) }
        let text = ''
        const socket = require('node:net').connect({ port, host: '127.0.0.1', allowHalfOpen: true })
        socket.on('data', (chunk) => (text += chunk))
        socket.on('end', () => socket.destroy())
        socket.on('close', () => { raise(); parentPort.postMessage(text) })
        socket.end(bytes, () => (how === 'closed' ? socket.destroy() : raise()))`
        const worker = new Worker(script, {
          eval: true,
          workerData: {
            flag,
            port: Number(portOf(daemon.address)),
            bytes: mint(daemon.address),
            how,
          },
        })
        const answer = once(worker, 'message')
        assert.equal(Atomics.wait(flag, 0, 0, TEST_LIMIT_MS), 'ok')
        const [text] = (await answer) as [string]
        if (how === 'half-closed') refused(answersIn(text), 403, 'peer_not_allowed')
        assert.equal(await count(), before)
      })
  },
)
