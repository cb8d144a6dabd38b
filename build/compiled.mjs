/**
 * The V8 code cache of the program, with every function that a start calls. It is taken from a
 * daemon that has started and answered.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Starts the bundle over an empty state folder, sends one request, and stops it cleanly. */
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
  await (await fetch(`${address}/health`)).text()
  daemon.kill()
  await ended
}

/**
 * Returns the bytes of the cache, valid for exactly this program and the Node that runs this
 * script.
 */
export async function compiled() {
  const stateDir = await mkdtemp(join(tmpdir(), 'countersignd-build-'))
  try {
    // The second start is like all later ones: the first also creates the account.
    await run(stateDir)
    for (const name of await readdir('dist'))
      if (name.endsWith('.cache')) await rm(join('dist', name))
    await run(stateDir)
    const [name] = (await readdir('dist')).filter((one) => one.endsWith('.cache'))
    return await readFile(join('dist', name))
  } finally {
    await rm(stateDir, { recursive: true })
  }
}
