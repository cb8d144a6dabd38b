/** The owner of a state folder’s lock: which locks a command waits for, and which it does not. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { holderOf } from '../../src/cli/lock-owner.ts'
import { EXIT } from '../../src/errors.ts'
import { STATE_VERSIONS } from '../../src/state/migrations.ts'
import { type Lock, lockState } from '../../src/storage/lock.ts'
import { stateSecret, writeRuntime } from '../../src/storage/runtime-file.ts'
import { countersignd, startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { daemonHere, terminal } from './terminal.ts'

/** Creates a state folder, and acquires its lock in this process. */
function lockedFolder(t: TestContext): { dir: string; lock: Lock } {
  const dir = freshFolder(t)
  const lock = lockState(dir)
  assert(lock !== null)
  t.after(() => lock.release())
  return { dir, lock }
}

/** Creates the files of a dead daemon, with an address at which connections are now closed. */
async function leftBehind(t: TestContext, dir: string) {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  stateSecret(dir)
  const address = `http://127.0.0.1:${port}`
  writeRuntime(dir, {
    pid: process.pid,
    address,
    socket: null,
    nonce: 'dead',
    version: '0',
    stateVersion: null,
  })
  return server
}

describe('a folder that another command has locked', () => {
  it('is available as soon as that command ends', async (t) => {
    const { dir, lock } = lockedFolder(t)
    const status = terminal(dir)(['status'])
    lock.release()
    const { code, err } = await status
    assert.equal(code, EXIT.noDaemon, err)
  })

  it('delays the start of the daemon until that command ends', async (t) => {
    const { dir, lock } = lockedFolder(t)
    const asked = once(await leftBehind(t, dir), 'connection')
    const starting = startDaemon(dir)
    // It found the lock owned when it looked for the daemon; a daemon that did not start fails
    // here.
    await Promise.race([asked, starting])
    lock.release()
    const daemon = await starting
    assert.equal(await daemon.end('SIGTERM'), 0, daemon.log())
  })

  it('and never releases: no daemon starts', async (t) => {
    const { dir } = lockedFolder(t)
    const { code, stdout, stderr } = await countersignd(['serve'], dir)
    assert.deepEqual([code, stdout], [EXIT.stateInUse, ''])
    assert.match(stderr, /in use by another countersignd\. Stop it/)
  })

  it('may get a daemon meanwhile, which the command then uses', async (t) => {
    const { dir, lock } = lockedFolder(t)
    const asked = once(await leftBehind(t, dir), 'connection')
    const status = terminal(dir)(['status'])
    await asked
    lock.release()
    // Synchronous up to the lock: the command cannot acquire it first.
    const daemon = await daemonHere(dir)
    t.after(() => daemon.close())
    const { code, err } = await status
    assert.equal(code, EXIT.ok, err)
    assert.match(daemon.log(), /"route":"GET \/api\/v1\/status"/)
  })
})

it('a lock stays acquired until it is released', async (t) => {
  const dir = freshFolder(t)
  const holder = await holderOf(dir, null)
  assert('lock' in holder)
  assert.equal(lockState(dir), null)
  holder.lock.release()
})

it('a daemon on port 80 is reached, and accepts its name without the port', async (t) => {
  const dir = freshFolder(t)
  const env = { SVC_HTTP_BIND: '127.80.80.80', SVC_HTTP_PORT: '80' }
  let daemon
  try {
    daemon = await daemonHere(dir, 'debug', env)
  } catch (error) {
    const { exit, message } = error as { exit?: number; message: string }
    if (exit !== undefined) return t.skip(message)
    throw error
  }
  t.after(() => daemon.close())
  const { code, err } = await terminal(dir)(['status'])
  assert.equal(code, EXIT.ok, err)
})

const { newest } = STATE_VERSIONS

/** The version that the daemon publishes; undefined where it publishes none. */
const cases = [
  ['protocol 1', undefined, EXIT.stateOlder, /before the first release.*another SVC_STATE_DIR/],
  ['a version before the first one', 13, EXIT.stateOlder, /before the first release.* kill \d/],
  ['a newer program', newest + 1, EXIT.stateNewer, /is newer than this program.*Update/],
] as const

describe('the command line rejects a running daemon of', () => {
  for (const [what, stateVersion, exit, message] of cases)
    it(`${what}: it names the process and sends no request`, async (t) => {
      const dir = freshFolder(t)
      const daemon = await daemonHere(dir, 'debug')
      t.after(() => daemon.close())
      const file = join(dir, 'runtime.json')
      const runtime = JSON.parse(readFileSync(file, 'utf8')) as object
      writeFileSync(file, JSON.stringify({ ...runtime, stateVersion }), { mode: 0o600 })
      for (const command of [
        ['status'],
        ['guest', 'create', '--label', 'A friend'],
        ['connection', 'list'],
      ]) {
        const { code, out, err } = await terminal(dir)(command)
        assert.deepEqual([code, out], [exit, ''], err)
        assert.match(err, new RegExp(`running daemon \\(process ${process.pid}\\)`))
        assert.match(err, message)
      }
      const routes = [...daemon.log().matchAll(/"route":"([^"]+)"/g)].map(([, route]) => route)
      assert.deepEqual(new Set(routes), new Set(['GET /api/v1/health']))
    })
})
