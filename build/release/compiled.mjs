/**
 * The V8 code caches of the program's scripts, with every function that a start and its first sync
 * call. They are taken from a daemon that has started, answered and synced. Builds of the same
 * scripts have the same caches, byte for byte.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { promisify } from 'node:util'

const own = (name) => join(import.meta.dirname, name)

/** The order of V8's tables depends on a random number. */
const SEED = '--random-seed=1'

/** Sends a request to the daemon; returns its answer. */
async function ask(address, path, request) {
  const answer = await fetch(address + path, request)
  if (!answer.ok) throw new Error(`${path} of the bundle answered ${answer.status}`)
  return answer.json()
}

/** Starts the bundle, sends requests, and syncs; writes its caches into a folder, and stops it. */
async function record(stateDir, folder) {
  const env = {
    SVC_STATE_DIR: stateDir,
    SVC_KEYCHAIN: 'file',
    SVC_LOG_LEVEL: 'error',
    SVC_HTTP_PORT: '0',
    SVC_ACCOUNT_PORT: '0',
  }
  const words = [SEED, '--require', own('recorder.cjs'), 'dist/countersignd.cjs', 'serve', '--json']
  const daemon = spawn(process.execPath, words, {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const ended = once(daemon, 'exit')
  const failed = ended.then(([code]) => Promise.reject(new Error(`the bundle ended with ${code}`)))
  const [line] = await Promise.race([once(daemon.stdout, 'data'), failed])
  const { address } = JSON.parse(line)
  await ask(address, '/health')
  const { token } = await ask(address, '/api/v1/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"name":"build","scope":"full"}',
  })
  const headers = { Authorization: `Bearer ${token}` }
  // The first one may be the sync of the start, and the second one has no news.
  for (let time = 0; time < 2; time++)
    await ask(address, '/api/v1/sync', { method: 'POST', headers })
  const written = once(daemon, 'disconnect')
  daemon.send(folder)
  await Promise.race([written, failed])
  daemon.kill()
  await ended
}

/**
 * Returns the bytes of the caches by the name of the script, valid for exactly these scripts and
 * the Node that runs this one.
 */
export async function compiled() {
  const place = await mkdtemp(join(tmpdir(), 'countersignd-build-'))
  try {
    const [state, first, later] = ['state', 'first', 'later'].map((name) => join(place, name))
    await mkdir(state, { mode: 0o700 })
    // The second start is like all later ones: the first also creates the account.
    await record(state, first)
    await record(state, later)
    const files = await readdir(later, { recursive: true, withFileTypes: true })
    const names = files
      .filter((one) => one.isFile())
      .map((one) =>
        join(one.parentPath, one.name)
          .slice(later.length + 1)
          .replaceAll(sep, '/'),
      )
      .toSorted()
    await promisify(execFile)(process.execPath, [SEED, own('renumber.cjs'), later, ...names])
    const caches = names.map(async (name) => [name, await readFile(join(later, name))])
    return Object.fromEntries(await Promise.all(caches))
  } finally {
    await rm(place, { recursive: true })
  }
}
