/** The executable in a session of its own, with a real Secret Service. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { exec } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const UNLOCKED =
  'printf test | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$@"'

export async function inSession(t: TestContext, executable: string): Promise<void> {
  const home = freshFolder(t)
  const runtime = join(home, 'run')
  mkdirSync(runtime, { mode: 0o700 })
  const {
    NODE_TEST_CONTEXT: _,
    DBUS_SESSION_BUS_ADDRESS: _bus,
    DISPLAY: _display,
    ...rest
  } = process.env
  const script = join(import.meta.dirname, 'keychain.session.ts')
  const words = ['sh', '-c', UNLOCKED, 'sh', process.execPath, '--test-reporter=tap', script]
  const { code, stdout, stderr } = await exec('dbus-run-session', ['--', ...words], {
    env: {
      ...rest,
      HOME: home,
      XDG_DATA_HOME: join(home, 'data'),
      XDG_RUNTIME_DIR: runtime,
      EXECUTABLE: executable,
    },
    timeout: 100_000,
  })
  assert.equal(code, 0, `${stdout}\n${stderr}`)
}
