/** The Unix socket of the API: who may connect, which requests it answers, and its file. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { type Server, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { gidOf, removeStaleSocket, socketPlace } from '../../src/http/unix-socket.ts'
import { type TestDaemon, ask, startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { unixUrl } from '../unix-url.ts'
import { CLOSE, JSON_TYPE, NEW_TOKEN, only, refused } from './guarding.ts'
import { exchange } from './raw.ts'

const skip = process.platform === 'win32' && 'Unix sockets have no mode on Windows'
const isRoot = process.getuid?.() === 0

const modeOf = (path: string) => lstatSync(path).mode & 0o777

describe('the API on a Unix socket alone', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'))
  const path = join(folder, 'api.sock')
  let daemon: TestDaemon
  before(async () => {
    daemon = await startDaemon({ SVC_HTTP_PORT: 'off', SVC_HTTP_SOCKET: path })
  })
  after(async () => {
    await daemon.close()
    rmSync(folder, { recursive: true })
  })

  const get = (lines: readonly string[], target = '/health') =>
    exchange(daemon.address, [`GET ${target} HTTP/1.1`, ...lines, CLOSE])

  it('admits only the owner by its mode', () => {
    assert.equal(modeOf(path), 0o600)
  })

  for (const [name, lines] of [
    ['no Host', []],
    ['an empty Host', ['Host:']],
    ['the name of another site', ['Host: evil.example']],
    ['the Host of curl', ['Host: localhost']],
    ['the usual TCP address', ['Host: 127.0.0.1:19821']],
  ] as const)
    it(`answers with any Host: ${name}`, async () => {
      assert.equal(only(await get(lines)).status, 200)
      const head = ['POST /api/v1/token HTTP/1.1', ...lines, JSON_TYPE, CLOSE]
      const length = `Content-Length: ${NEW_TOKEN.length}`
      const made = await exchange(daemon.address, [...head, length], NEW_TOKEN)
      assert.equal(only(made).status, 201)
    })

  it('answers HTTP/1.0 without Host', async () => {
    assert.equal(only(await exchange(daemon.address, ['GET /health HTTP/1.0'])).status, 200)
  })

  it('rejects two Hosts', async () => {
    refused(await get(['Host: a', 'Host: b']), 400, 'bad_request')
  })

  for (const line of [
    'Origin: null',
    'Origin: http://localhost',
    'Origin: http://127.0.0.1:19821',
    'Sec-Fetch-Site: same-origin',
    'Sec-Fetch-Site: none',
    'Sec-Fetch-Site: cross-site',
    'Service-Worker: script',
  ])
    it(`rejects a browser: ${line}`, async () => {
      refused(
        await get([line, 'Host: localhost', 'Sec-Fetch-Mode: navigate'], '/'),
        403,
        'origin_not_allowed',
      )
    })

  it('repeats no Host in a document', async () => {
    const token = await daemon.token('read')
    const headers = { Host: 'evil.example', Accept: 'text/plain' }
    for (const target of ['/', '/api/v1/docs', '/api/v1/openapi.json', '/api/v1/tools']) {
      const { status, text } = await daemon.request('GET', target, { token, headers })
      assert.equal(status, 200, target)
      assert(!text.includes('evil.example'), target)
    }
  })

  it('gives no console, which needs TCP', async () => {
    const body = { scope: 'read' }
    const code = await daemon.request('POST', '/console/v1/codes', { body })
    assert.equal(code.status, 409)
    assert.match(code.text, /Browsers need TCP/)
    const session = await daemon.request('POST', '/console/v1/session', { body: { code: 'x' } })
    assert.equal(session.status, 403)
  })

  it('is in the status and in the audit log', async () => {
    const token = await daemon.token('full')
    const status = await daemon.request('GET', '/api/v1/status', { token })
    const { api, socket } = status.json as { api: unknown; socket: unknown }
    assert.deepEqual({ api, socket }, { api: null, socket: path })
    const audit = await daemon.request('GET', '/api/v1/audit?limit=1', { token })
    const [line] = (audit.json as { items: { channel: string; peer_uid: unknown }[] }).items
    assert.deepEqual([line?.channel, line?.peer_uid], ['socket', null])
  })

  it('streams events', async () => {
    const token = await daemon.token('read')
    const socket = connect({ path })
    socket.write(
      `GET /api/v1/events HTTP/1.1\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\n\r\n`,
    )
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    assert.match(bytes.toString(), /^HTTP\/1\.1 200 [^]*content-type: text\/event-stream/i)
    socket.destroy()
  })
})

describe('a socket beside TCP', { skip }, () => {
  it('admits the group, and is removed at the stop', async (t) => {
    const path = join(freshFolder(t), 'api.sock')
    const gid = process.getgid?.() as number
    const env = { SVC_HTTP_SOCKET: path, SVC_HTTP_SOCKET_GROUP: String(gid) }
    const daemon = await startDaemon(env)
    try {
      assert.equal(modeOf(path), 0o660)
      assert.equal(lstatSync(path).gid, gid)
      for (const address of [daemon.address, unixUrl(path)])
        assert.equal((await ask(address, 'GET', '/health')).status, 200)
      const foreign = await ask(daemon.address, 'GET', '/health', { headers: { Host: 'evil' } })
      assert.equal(foreign.status, 403)
    } finally {
      await daemon.close()
    }
    assert.equal(lstatSync(path, { throwIfNoEntry: false }), undefined)
  })

  it('is refused if it is off and there is no socket', async () => {
    await assert.rejects(startDaemon({ SVC_HTTP_PORT: 'off' }), {
      exit: EXIT.configuration,
      message: /there is no Unix socket/,
    })
  })
})

describe('the file of a socket', { skip }, () => {
  /** Listens on a path as a daemon does; returns its server. */
  async function listening(t: TestContext, path: string): Promise<Server> {
    const server = createServer((socket) => socket.end())
    await socketPlace({ path, group: null }).listen(server as never)
    t.after(() => server.close())
    return server
  }

  /** Leaves a socket at a path on which no program listens, as a killed daemon does. */
  async function leaveStale(path: string): Promise<void> {
    const server = createServer().listen({ path: `${path}.born` })
    await once(server, 'listening')
    renameSync(`${path}.born`, path)
    server.close()
    await once(server, 'close')
  }

  const isAnswered = async (path: string) => {
    const socket = connect({ path })
    await once(socket, 'connect')
    socket.destroy()
  }

  it('replaces the socket of a killed daemon', async (t) => {
    const path = join(freshFolder(t), 'api.sock')
    await leaveStale(path)
    await listening(t, path)
    await isAnswered(path)
  })

  it('is not replaced while a program listens', async (t) => {
    const path = join(freshFolder(t), 'api.sock')
    await listening(t, path)
    await assert.rejects(listening(t, path), { exit: EXIT.portTaken })
    await isAnswered(path)
  })

  it('is put back if another daemon replaced it meanwhile', async (t) => {
    const path = join(freshFolder(t), 'api.sock')
    await leaveStale(path)
    const seen = lstatSync(path)
    await listening(t, path)
    assert.throws(() => removeStaleSocket(path, seen), { exit: EXIT.portTaken })
    await isAnswered(path)
  })

  it('is left alone at the stop if another daemon or a file replaced it', async (t) => {
    const path = join(freshFolder(t), 'api.sock')
    const first = await listening(t, path)
    rmSync(path)
    const second = await listening(t, path)
    first.close()
    await once(first, 'close')
    await isAnswered(path)
    rmSync(path)
    writeFileSync(path, 'x')
    second.close()
    await once(second, 'close')
    assert.equal(readFileSync(path, 'utf8'), 'x')
  })

  it(
    'is not put behind a link that another user can change',
    { skip: !isRoot && 'needs root' },
    (t) => {
      const [folder, owned] = [freshFolder(t), freshFolder(t)]
      chownSync(owned, 1234, 1234)
      const place = (link: string) =>
        socketPlace({ path: join(link, 'run', 'api.sock'), group: null })
      mkdirSync(join(folder, 'run'))
      symlinkSync(folder, join(owned, 'link'))
      const message = /any of them could replace the socket/
      const refusal = { exit: EXIT.configuration, message }
      assert.throws(() => place(join(owned, 'link')), refusal)
      // A link of this user that leads through the link of the other.
      symlinkSync(join(owned, 'link'), join(folder, 'second'))
      assert.throws(() => place(join(folder, 'second')), refusal)
      symlinkSync('.', join(folder, 'own'))
      place(join(folder, 'own'))
    },
  )

  for (const [name, plant] of [
    ['a file', (path: string) => writeFileSync(path, 'x')],
    ['a folder', (path: string) => mkdirSync(path)],
    ['a link', (path: string) => symlinkSync('/nowhere', path)],
  ] as const)
    it(`is not put in place of ${name}`, async (t) => {
      const path = join(freshFolder(t), 'api.sock')
      plant(path)
      const before = lstatSync(path).ino
      const message = /exists and is not a socket/
      await assert.rejects(listening(t, path), { exit: EXIT.configuration, message })
      assert.equal(lstatSync(path).ino, before)
    })

  it(
    'is not put in place of the socket of another user',
    { skip: !isRoot && 'needs root' },
    async (t) => {
      const path = join(freshFolder(t), 'api.sock')
      await leaveStale(path)
      chownSync(path, 1234, 1234)
      const message = /belongs to user 1234, so it is not replaced/
      await assert.rejects(listening(t, path), { exit: EXIT.configuration, message })
    },
  )

  for (const [name, mode] of [
    ['others can write to', 0o777],
    ['a group can write to', 0o770],
    ['all share, as /tmp', 0o1777],
  ] as const)
    it(`is not put into a folder that ${name}`, (t) => {
      const folder = freshFolder(t)
      chmodSync(folder, mode)
      assert.throws(() => socketPlace({ path: join(folder, 'api.sock'), group: null }), {
        exit: EXIT.configuration,
        message: /any of them could replace the socket/,
      })
    })

  it('needs its folder', (t) => {
    const path = join(freshFolder(t), 'missing', 'api.sock')
    assert.throws(() => socketPlace({ path, group: null }), { message: /\(ENOENT\). Create it/ })
  })

  it('needs its group', () => {
    assert.equal(gidOf('7', ''), 7)
    assert.equal(gidOf('staff', 'root:x:0:\nstaff:x:50:ada\n'), 50)
    for (const group of ['stafff', 'ada', 'x'])
      assert.throws(() => gidOf(group, 'staff:x:50:ada\nempty:x::\n'), { exit: EXIT.configuration })
  })
})
