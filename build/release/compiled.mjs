/**
 * The V8 code caches of the program's scripts, with every function that a start and its first sync
 * call. They are taken from a daemon that has started, answered and synced.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'

/** The ends of the names of a server's code caches. */
const SUFFIX = /\.[0-9a-f]+\.server\.cache$/

/** Returns the paths in dist/ of a server's code caches. */
async function caches() {
  const names = await readdir('dist', { recursive: true })
  return names.filter((name) => SUFFIX.test(name)).toSorted()
}

/** Sends a request to the daemon; returns its answer. */
async function ask(address, path, request) {
  const answer = await fetch(address + path, request)
  if (!answer.ok) throw new Error(`${path} of the bundle answered ${answer.status}`)
  return answer.json()
}

/** Starts the bundle, sends a request, syncs, and stops it cleanly. */
async function run(stateDir) {
  const env = {
    SVC_STATE_DIR: stateDir,
    SVC_KEYCHAIN: 'file',
    SVC_LOG_LEVEL: 'error',
    SVC_HTTP_PORT: '0',
    SVC_ACCOUNT_PORT: '0',
  }
  const daemon = spawn(process.execPath, ['dist/countersignd.cjs', 'serve', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(daemon, 'exit')
  const [line] = await Promise.race([
    once(daemon.stdout, 'data'),
    ended.then(([code]) => Promise.reject(new Error(`the bundle ended with ${code}`))),
  ])
  const { address } = JSON.parse(line)
  await ask(address, '/health')
  const { token } = await ask(address, '/api/v1/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"name":"build","scope":"full"}',
  })
  const headers = { Authorization: `Bearer ${token}` }
  await ask(address, '/api/v1/sync', { method: 'POST', headers })
  daemon.kill()
  await ended
}

/**
 * Returns the bytes of the caches by the name of the script, valid for exactly these scripts and
 * the Node that runs this one.
 */
export async function compiled() {
  const stateDir = await mkdtemp(join(tmpdir(), 'countersignd-build-'))
  try {
    // The second start is like all later ones: the first also creates the account.
    await run(stateDir)
    for (const name of await caches()) await rm(join('dist', name))
    await run(stateDir)
    const made = {}
    for (const name of await caches())
      made[name.replace(SUFFIX, '').replaceAll(sep, '/')] = await readFile(join('dist', name))
    return made
  } finally {
    await rm(stateDir, { recursive: true })
  }
}
