/** The system's keychain is locked, or goes away, while a daemon runs: in a session of its own, with a real Secret Service. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { lacking } from '../installed.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { bareEnvironment, noSession, session } from '../keychain/session.ts'

const skip = noSession || lacking('dbus-send')

test(
  'each call says so, nothing is lost or kept elsewhere, and all is well afterwards',
  { skip },
  (t) => {
    const script = join(import.meta.dirname, 'keychain-lock.session.ts')
    const [program, ...words] = session(process.execPath, '--test-reporter=tap', script)
    const { status, stdout, stderr } = spawnSync(program, words, {
      env: bareEnvironment(freshFolder(t)),
      encoding: 'utf8',
      timeout: 100_000,
    })
    assert.equal(status, 0, `${stdout}\n${stderr}`)
  },
)
