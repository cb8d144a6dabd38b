/**
 * `doctor` beside a healthy daemon, a hanging one and one of another user; and beside programs
 * that own its ports.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer as httpServer } from 'node:http'
import { type AddressInfo, type Server, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { lockerIn } from '../../../src/cli/doctor/lock-owner.ts'
import {
  type Runtime,
  readRuntime,
  stateSecret,
  writeRuntime,
} from '../../../src/storage/runtime-file.ts'
import { daemonProof } from '../../../src/auth/proof.ts'
import { start } from '../../e2e/program.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { startChild } from '../../state/child.ts'
import { until } from '../../until.ts'
import { examine, findingOf, startIdle, traces } from '../installation.ts'
import { freePort } from '../../free-port.ts'

const skipProc = process.platform === 'linux' ? false : 'who has a port is told on Linux'

async function listening(t: TestContext, server: Server, host = '127.0.0.1', port = 0) {
  server.listen(port, host)
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Starts a silent child process that owns the lock of a state folder. */
async function lockedFolder(t: TestContext): Promise<string> {
  const dir = freshFolder(t)
  const holder = startChild(t, 'holder.ts', dir)
  assert.equal(await holder.line(), 'held')
  stateSecret(dir)
  return dir
}

const silent: [name: string, by: (dir: string, t: TestContext) => unknown, found: RegExp][] = [
  ['wrote no runtime.json', () => undefined, /its address is unknown/],
  [
    'left a damaged runtime.json',
    (dir) => writeFileSync(join(dir, 'runtime.json'), '{', { mode: 0o600 }),
    /runtime\.json is damaged/,
  ],
  [
    'names an address on another machine',
    (dir) => point(dir, 'http://user:canary@evil.example:80'),
    /an address that is not on this machine/,
  ],
  [
    'is not the program at its address',
    async (dir, t) => {
      const server = httpServer((_, res) => res.end('{"status":"ok","version":"0","uptime_s":1}'))
      point(dir, `http://127.0.0.1:${await listening(t, server)}`)
    },
    /another program answers at /,
  ],
  [
    'answers with a wrong proof',
    async (dir, t) => {
      const server = httpServer((_, res) => {
        const proof = daemonProof(stateSecret(dir), 'another', 'http://127.0.0.1:1')
        res.setHeader('Countersign-Proof', proof).end('{}')
      })
      point(dir, `http://127.0.0.1:${await listening(t, server)}`)
    },
    /another program answers at /,
  ],
  [
    'has lost its secret',
    (dir) => {
      rmSync(join(dir, 'secret'))
      point(dir, 'http://127.0.0.1:1')
    },
    /secret in its folder is missing/,
  ],
  [
    'dribbles',
    async (dir, t) => {
      const server = createServer((socket) => {
        socket.on('error', () => undefined)
        socket.write('HTTP/1.1 200 OK\r\nX-A: ')
        const drip = setInterval(() => socket.write('a'), 200)
        socket.on('close', () => clearInterval(drip))
      })
      point(dir, `http://127.0.0.1:${await listening(t, server)}`)
    },
    /it does not answer/,
  ],
]
const point = (dir: string, address: string) =>
  writeRuntime(dir, {
    pid: 1,
    address,
    socket: null,
    nonce: 'canary',
    version: '0',
    stateVersion: null,
  })

// Most of the time goes into waiting for processes that do not answer.
describe('doctor while the folder or the ports are in use', { concurrency: 4 }, () => {
  it('a healthy daemon: nothing fails and nothing changes; then stopped, and resumed', async (t) => {
    const dir = freshFolder(t)
    const ports = {
      SVC_HTTP_PORT: String(await freePort()),
      SVC_ACCOUNT_PORT: String(await freePort()),
    }
    const daemon = await startIdle(dir, ports)
    t.after(() => daemon.end('SIGKILL'))
    const { pid } = readRuntime(dir) as Runtime

    const { code, checks } = await examine(dir, ports)
    assert.equal(code, 0)
    findingOf(checks, ['ok', 'daemon', new RegExp(`process ${pid} at ${daemon.address}.*proved`)])
    findingOf(checks, ['ok', 'API port', /used by this countersignd/])
    findingOf(checks, ['ok', 'account port', /used by this countersignd/])
    findingOf(checks, ['ok', 'state.db', /^intact/])
    findingOf(checks, ['ok', 'keychain', /contains the keys of this device/])

    const elsewhere = await examine(dir, { SVC_HTTP_PORT: String(await freePort()) })
    findingOf(elsewhere.checks, [
      'warn',
      'daemon',
      /the environment of this command has/,
      /SVC_HTTP_PORT/,
    ])

    process.kill(pid, 'SIGSTOP')
    const stopped = await examine(dir, ports)
    const finding = findingOf(stopped.checks, [
      'fail',
      'daemon',
      /does not answer as its daemon: .*does not answer/,
      /kill/,
    ])
    findingOf(stopped.checks, ['ok', 'state.db', /^intact/])
    if (process.platform === 'linux') assert.equal(finding.remedy, `kill -CONT ${pid}`)
    process.kill(pid, 'SIGCONT')
    findingOf((await examine(dir, ports)).checks, ['ok', 'daemon', /proved/])
  })

  it('an account server alone', { skip: skipProc }, async (t) => {
    const dir = freshFolder(t)
    const ports = { SVC_ACCOUNT_PORT: String(await freePort()) }
    const server = await start(['server', '--json'], dir, ports, '}\n')
    t.after(() => server.end('SIGKILL'))
    // The start may still write.
    await until('a read that changes nothing', async () => {
      const before = traces(dir)
      const health = await fetch(`http://127.0.0.1:${ports.SVC_ACCOUNT_PORT}/health`)
      assert.equal(health.status, 200)
      return isDeepStrictEqual(traces(dir), before)
    })
    const { code, checks } = await examine(dir, ports)
    findingOf(checks, ['ok', 'daemon', /an account server without a daemon uses this folder/])
    findingOf(checks, ['ok', 'account port', /used by this countersignd/])
    assert.equal(code, 0)
  })

  for (const [name, by, found] of silent)
    it(`the lock owner of the folder ${name}`, async (t) => {
      const dir = await lockedFolder(t)
      await by(dir, t)
      const { code, checks } = await examine(dir, {}, ['canary'])
      findingOf(checks, ['fail', 'daemon', found, /kill|stop it/])
      assert.equal(code, 1)
    })

  it('the ports are in use, also on the other address', { skip: skipProc }, async (t) => {
    const dir = join(freshFolder(t), 'state')
    const api = await listening(t, createServer())
    const account = await listening(t, createServer(), '::1')
    const env = { SVC_HTTP_PORT: String(api), SVC_ACCOUNT_PORT: String(account) }
    const { code, checks } = await examine(dir, env)
    const mine = new RegExp(`is used by .*\\(process ${process.pid}\\)`)
    findingOf(checks, ['fail', 'API port', mine, /SVC_HTTP_PORT/])
    findingOf(checks, ['ok', 'account port', /is free/])
    findingOf(checks, ['warn', 'account port', /they have the same origin/, /^kill \d+$/])
    assert.equal(code, 1)
  })

  it('a daemon of another version', async (t) => {
    const dir = await lockedFolder(t)
    const server = httpServer((req, res) => {
      const nonce = String(req.headers['countersign-nonce'])
      const proof = daemonProof(stateSecret(dir), nonce, `http://${req.headers.host}`)
      res.setHeader('Countersign-Proof', proof)
      res.end('{"status":"ok","version":"0.0.1","uptime_s":90000}')
    })
    point(dir, `http://127.0.0.1:${await listening(t, server)}`)
    findingOf((await examine(dir)).checks, [
      'warn',
      'daemon',
      /25 hours, version 0\.0\.1/,
      /kill 1;/,
    ])
  })

  it('a daemon killed while writing: the write-ahead log of its database is read and kept', async (t) => {
    const dir = freshFolder(t)
    const daemon = await startIdle(dir)
    await daemon.end('SIGKILL')
    const { checks } = await examine(dir)
    findingOf(checks, ['ok', 'state.db', /^intact/])
    findingOf(checks, ['ok', 'account.db', /^intact/])
    findingOf(checks, ['ok', 'account', /^acc_/])
    findingOf(checks, ['warn', 'daemon', /left over from a daemon that was killed/])
  })
})

it('finds the process that has a lock', () => {
  const locks = [
    '1: POSIX  ADVISORY  READ 7 fe:01:4711 1073741826 1073742335',
    '2: -> POSIX  ADVISORY  WRITE 8 fe:01:4711 0 EOF',
    '3: FLOCK  ADVISORY  WRITE 9 fe:01:47110 0 EOF',
    '4: POSIX  ADVISORY  WRITE 10 fe:01:4711 1073741825 1073741825',
  ].join('\n')
  assert.deepEqual(
    [lockerIn(locks, 4711n), lockerIn(locks, 1n), lockerIn('', 1n)],
    [10, null, null],
  )
})
