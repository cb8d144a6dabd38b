/** Descriptors that a service manager passes: only safe listening sockets are used. */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { chmodSync, closeSync, openSync, readlinkSync } from 'node:fs'
import { type Server, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { dropInherited, inheritedDescriptors } from '../../src/config/sockets.ts'
import { EXIT } from '../../src/errors.ts'
import { inheritedPlace, listeningAt } from '../../src/http/inherited.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const skip = process.platform !== 'linux' && 'systemd is of Linux'

const fdOf = (of: object): number => (of as { _handle: { fd: number } })._handle.fd

async function listening(t: TestContext, at: Parameters<Server['listen']>[0]): Promise<Server> {
  const server = createServer().listen(at)
  t.after(() => server.close())
  await once(server, 'listening')
  return server
}

const placeOf = (fd: number) => inheritedPlace({ fd, name: 'api' })

describe('a passed descriptor', { skip }, () => {
  for (const host of ['127.0.0.1', '127.5.6.7', '::1'])
    it(`is used if it listens on ${host}`, async (t) => {
      const server = await listening(t, { host, port: 0 })
      const { port } = server.address() as { port: number }
      assert.deepEqual(placeOf(fdOf(server)).at, { bind: host, port })
    })

  it('is used if it listens on a Unix socket of this user', async (t) => {
    const path = join(freshFolder(t), 'a socket')
    const server = await listening(t, { path })
    chmodSync(path, 0o660)
    assert.deepEqual(placeOf(fdOf(server)).at, { path })
  })

  const cases: [name: string, make: (t: TestContext) => Promise<number>, message: RegExp][] = [
    [
      'a socket of all addresses',
      async (t) => fdOf(await listening(t, { host: '0.0.0.0', port: 0 })),
      /http:\/\/0\.0\.0\.0:\d+, which other machines may reach/,
    ],
    [
      'a socket of all addresses of IPv6',
      async (t) => fdOf(await listening(t, { host: '::', port: 0 })),
      /which other machines may reach/,
    ],
    [
      'a connected socket',
      async (t) => {
        const server = await listening(t, { host: '127.0.0.1', port: 0 })
        const socket = connect(server.address() as { port: number })
        t.after(() => socket.destroy())
        await once(socket, 'connect')
        return fdOf(socket)
      },
      /is not a listening stream socket/,
    ],
    [
      'a datagram socket',
      async (t) => {
        const socket = createSocket('udp4')
        t.after(() => socket.close())
        socket.bind(0, '127.0.0.1')
        await once(socket, 'listening')
        const [handle] = Object.getOwnPropertySymbols(socket)
          .map((symbol) => (socket as never)[symbol] as { handle?: { fd: number } })
          .flatMap(({ handle }) => (handle === undefined ? [] : [handle]))
        return handle?.fd as number
      },
      /is not a listening stream socket/,
    ],
    [
      'a file',
      async (t) => {
        const fd = openSync('/dev/null', 'r')
        t.after(() => closeSync(fd))
        return fd
      },
      /is not a listening stream socket/,
    ],
    ['nothing', async () => 987, /is not a listening stream socket/],
    [
      'a Unix socket for every user',
      async (t) => {
        const path = join(freshFolder(t), 'api.sock')
        const server = await listening(t, { path })
        chmodSync(path, 0o666)
        return fdOf(server)
      },
      /every user can connect. Set SocketMode=0600/,
    ],
    [
      'a Unix socket in a folder that others can write to',
      async (t) => {
        const folder = freshFolder(t)
        const path = join(folder, 'api.sock')
        const server = await listening(t, { path })
        chmodSync(path, 0o600)
        chmodSync(folder, 0o777)
        return fdOf(server)
      },
      /any of them could replace the socket/,
    ],
    [
      'an abstract socket',
      async (t) => fdOf(await listening(t, { path: `\0countersign-${process.pid}` })),
      /has no path, so every user could connect/,
    ],
  ]
  for (const [name, make, message] of cases)
    it(`is rejected: ${name}`, async (t) => {
      const fd = await make(t)
      assert.throws(() => placeOf(fd), { exit: EXIT.configuration, message })
    })

  it('is not confused with another socket of the lists', () => {
    const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:4D6D 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17 1 0 100
   1: 0100007F:4D6E 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 18 1 0 100`
    const unix = `Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 21 /run/a
0000000000000000: 00000002 00000000 00000000 0001 03 22 /run/a
0000000000000000: 00000002 00000000 00010000 0005 01 23 /run/b`
    const at = (inode: string) => listeningAt(inode, { tcp, tcp6: '', unix })
    assert.deepEqual(at('17'), { bind: '127.0.0.1', port: 19821 })
    assert.deepEqual(at('21'), { path: '/run/a' })
    for (const inode of ['18', '22', '23', '1']) assert.equal(at(inode), null)
  })

  it('is rejected if the path of another socket forges its row', () => {
    const own = '0000000000000000: 00000002 00000000 00010000 0001 01 21 /run/a'
    const forged = '0000000000000000: 00000002 00000000 00010000 0001 01 20 @\n0: 2 0 00010000 0001'
    const at = (...rows: string[]) =>
      listeningAt('21', { tcp: '', tcp6: '', unix: `Num Path\n${rows.join('\n')}\n` })
    const error = { exit: EXIT.configuration, message: /another program forges a row/ }
    assert.throws(() => at(`${forged} 01 21 /run/safe`, own), error)
    assert.throws(() => at(own, '0: 2 0 0 0005 01 21 /run/a'), error)
    // The kernel repeated the row, with another number of references.
    assert.deepEqual(at(own, own.replace('00000002', '00000003')), { path: '/run/a' })
  })

  it('is rejected if a program of this machine forges its row', async (t) => {
    const path = join(freshFolder(t), 'api.sock')
    const server = await listening(t, { path })
    chmodSync(path, 0o666)
    const fd = fdOf(server)
    const [inode = ''] = /\d+/.exec(readlinkSync(`/proc/self/fd/${fd}`)) ?? []
    const safe = join(freshFolder(t), 'safe')
    await listening(t, { path: safe })
    chmodSync(safe, 0o600)
    await listening(t, { path: `\0${process.pid}\n0: 2 0 00010000 0001 01 ${inode} ${safe}` })
    assert.throws(() => placeOf(fd), { exit: EXIT.configuration, message: /forges a row/ })
  })
})

describe('the variables of a service manager', () => {
  const LINUX = { platform: 'linux', homedir: () => '/' } as const
  const pid = String(process.pid)

  it('name the descriptors from 3', () => {
    const env = { LISTEN_PID: pid, LISTEN_FDS: '3', LISTEN_FDNAMES: 'api:web' }
    assert.deepEqual(inheritedDescriptors(env, LINUX), [
      { fd: 3, name: 'api' },
      { fd: 4, name: 'web' },
      { fd: 5, name: 'unknown' },
    ])
  })

  it('are ignored if they are for another process', () => {
    assert.deepEqual(inheritedDescriptors({ LISTEN_PID: '1', LISTEN_FDS: '1' }, LINUX), [])
    assert.deepEqual(inheritedDescriptors({ LISTEN_FDS: '1' }, LINUX), [])
  })

  it('are rejected on other systems, and if they are not numbers', () => {
    const env = { LISTEN_PID: pid, LISTEN_FDS: '1' }
    const configuration = { exit: EXIT.configuration }
    assert.throws(() => inheritedDescriptors(env, { ...LINUX, platform: 'darwin' }), configuration)
    assert.throws(() => inheritedDescriptors({ ...env, LISTEN_FDS: '1x' }, LINUX), configuration)
  })

  it('are removed', () => {
    const env = { LISTEN_PID: '1', LISTEN_FDS: '1', LISTEN_FDNAMES: 'a', PATH: '/bin' }
    dropInherited(env)
    assert.deepEqual(env, { PATH: '/bin' })
  })
})
