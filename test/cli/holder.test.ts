/** The owner of a state folder’s lock: which locks a command waits for, and which it does not. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { holderOf } from '../../src/cli/lock-owner.ts'
import { EXIT } from '../../src/errors.ts'
import { type Lock, lockState } from '../../src/storage/lock.ts'
import { stateSecret, writeRuntime } from '../../src/storage/runtime-file.ts'
import { countersignd, startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { daemonHere, terminal } from './terminal.ts'

/** Creates a state folder, and acquires its lock in this process. */
function held(t: TestContext): { dir: string; lock: Lock } {
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
  writeRuntime(dir, { pid: process.pid, address, nonce: 'dead', version: '0' })
  return server
}

describe('a folder that another command has locked', () => {
  it('is available as soon as that command ends', async (t) => {
    const { dir, lock } = held(t)
    const status = terminal(dir)(['status'])
    lock.release()
    const { code, err } = await status
    assert.equal(code, EXIT.ok, err)
  })

  it('delays the start of the daemon until that command ends', async (t) => {
    const { dir, lock } = held(t)
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
    const { dir } = held(t)
    const { code, stdout, stderr } = await countersignd(['serve'], dir)
    assert.deepEqual([code, stdout], [EXIT.stateInUse, ''])
    assert.match(stderr, /in use by another countersignd\. Stop it/)
  })

  it('may get a daemon meanwhile, which the command then uses', async (t) => {
    const { dir, lock } = held(t)
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
