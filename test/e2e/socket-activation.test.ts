/**
 * A daemon with sockets that another process created: by systemd's own program at the first use,
 * and again after a stop.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, describe, it } from 'node:test'
import { ask } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { TEST_LIMIT_MS } from '../limit.ts'
import { unixUrl } from '../unix-url.ts'
import { until } from '../until.ts'
import { PROGRAM, countersignd, environment } from './program.ts'

const ACTIVATE = 'systemd-socket-activate'
const skip =
  process.platform !== 'linux'
    ? 'systemd is of Linux'
    : spawnSync(ACTIVATE, ['--version']).status !== 0 && `${ACTIVATE} is not installed`

const SERVE = [process.execPath, PROGRAM, 'serve', '--json'] as const

function started(t: TestContext, command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const limit = { timeout: TEST_LIMIT_MS, killSignal: 'SIGKILL' } as const
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'], ...limit })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const closed = once(child, 'close')
  t.after(async () => {
    child.kill('SIGTERM')
    await closed
  })
  return { child, closed, log: () => log, lines: createInterface(child.stdout) }
}

describe('a socket of systemd', { skip }, () => {
  it('starts the daemon at its first use, and serves all commands', async (t) => {
    const stateDir = freshFolder(t)
    const path = join(freshFolder(t), 'api.sock')
    const env = environment(stateDir, { SVC_HTTP_PORT: 'off' })
    const settings = Object.entries(env).flatMap(([name, value]) => ['-E', `${name}=${value}`])
    const { child, log } = started(
      t,
      '/bin/sh',
      ['-c', 'umask 077; exec "$@"', 'sh', ACTIVATE, '-l', path, ...settings, ...SERVE],
      process.env,
    )
    await until('the socket', () => existsSync(path))
    assert.equal(existsSync(join(stateDir, 'runtime.json')), false)
    assert.equal((await ask(unixUrl(path), 'GET', '/health')).status, 200, log())

    // Programs that the daemon starts must not inherit the socket.
    const flags = /^flags:\s+0?(\d+)$/m.exec(readFileSync(`/proc/${child.pid}/fdinfo/3`, 'utf8'))
    assert.equal(Number.parseInt(flags?.[1] ?? '', 8) & 0o2_000_000, 0o2_000_000)

    await until('runtime.json', () => existsSync(join(stateDir, 'runtime.json')))
    const more = { env: { SVC_HTTP_PORT: 'off' } }
    const health = await countersignd(['health', '--json'], stateDir, more)
    assert.deepEqual(JSON.parse(health.stdout), { healthy: true, address: null, socket: path })
    const status = await countersignd(['status', '--json'], stateDir, more)
    assert.equal((JSON.parse(status.stdout) as { socket: string }).socket, path)
    const open = await countersignd(['open', '--print'], stateDir, more)
    assert.equal(open.code, 1)
    assert.match(open.stderr, /Browsers need TCP/)
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'status_read', arguments: {} },
    }
    const mcp = await countersignd(['mcp', '--scope', 'read'], stateDir, {
      ...more,
      input: `${JSON.stringify(call)}\n`,
    })
    assert.match(mcp.stdout, /"id":1/)
    assert(mcp.stdout.includes(path), mcp.stdout)
  })
})

/** Creates the sockets, and starts the daemon at each line of its input, as systemd does. */
const MANAGER = `
import os, socket, sys
path, argv = sys.argv[1], sys.argv[2:]
os.umask(0o177)
unix = socket.socket(socket.AF_UNIX)
unix.bind(path)
tcp = socket.socket()
tcp.bind(('127.0.0.1', 0))
for one in (unix, tcp): one.listen()
print(tcp.getsockname()[1], flush=True)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        for fd, one in ((3, os.dup(unix.fileno())), (4, os.dup(tcp.fileno()))): os.dup2(one, fd)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='2', LISTEN_FDNAMES='api:web')
        os.execv(argv[0], argv)
    os.waitpid(pid, 0)
    print('ended', flush=True)
`

describe(
  'sockets of a service manager',
  { skip: process.platform !== 'linux' && 'of Linux' },
  () => {
    it('stay while the daemon restarts, and waiting requests are answered', async (t) => {
      const stateDir = freshFolder(t)
      const path = join(freshFolder(t), 'api.sock')
      const env = environment(stateDir)
      const { child, lines } = started(t, 'python3', ['-c', MANAGER, path, ...SERVE], env)
      const said = lines[Symbol.asyncIterator]()
      const port = Number((await said.next()).value)
      const inode = lstatSync(path).ino
      for (const run of [1, 2]) {
        // The daemon is not running yet.
        const waiting = connect({ path })
        waiting.end('GET /health HTTP/1.1\r\nConnection: close\r\n\r\n')
        child.stdin.write('start\n')
        const line = JSON.parse((await said.next()).value as string) as Record<string, string>
        assert.equal(line['address'], `http://127.0.0.1:${port}`)
        assert.equal(line['socket'], path)
        const [bytes] = (await once(waiting, 'data')) as [Buffer]
        assert.match(bytes.toString(), /^HTTP\/1\.1 200 /, `run ${run}`)
        assert.equal((await ask(`http://127.0.0.1:${port}`, 'GET', '/health')).status, 200)
        const { pid } = JSON.parse(readFileSync(join(stateDir, 'runtime.json'), 'utf8')) as {
          pid: number
        }
        process.kill(pid, 'SIGTERM')
        assert.equal((await said.next()).value, 'ended')
        assert.equal(lstatSync(path).ino, inode)
      }
      child.stdin.end()
    })
  },
)
