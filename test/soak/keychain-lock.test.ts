/** The system's keychain is locked, or goes away, while a daemon runs: in a session of its own, with a real Secret Service. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { freshFolder } from '../keychain/fresh-folder.ts'

const PROGRAMS = ['dbus-run-session', 'dbus-send', 'gnome-keyring-daemon']
const missing = PROGRAMS.filter(
  (program) =>
    !(process.env['PATH'] ?? '').split(delimiter).some((dir) => existsSync(join(dir, program))),
)
const skip =
  process.platform !== 'linux'
    ? 'the Secret Service is on Linux'
    : missing.length > 0
      ? `not installed: ${missing.join(', ')}`
      : false

test(
  'each call says so, nothing is lost or kept elsewhere, and all is well afterwards',
  { skip },
  (t) => {
    const home = freshFolder(t)
    const runtime = join(home, 'run')
    mkdirSync(runtime, { mode: 0o700 })
    const {
      NODE_TEST_CONTEXT: _,
      DBUS_SESSION_BUS_ADDRESS: _bus,
      DISPLAY: _display,
      ...rest
    } = process.env
    const env = { ...rest, HOME: home, XDG_DATA_HOME: join(home, 'data'), XDG_RUNTIME_DIR: runtime }
    const session = join(import.meta.dirname, 'keychain-lock.session.ts')
    const { status, stdout, stderr } = spawnSync(
      'dbus-run-session',
      ['--', process.execPath, '--test-reporter=tap', session],
      { env, encoding: 'utf8', timeout: 100_000 },
    )
    assert.equal(status, 0, `${stdout}\n${stderr}`)
  },
)
