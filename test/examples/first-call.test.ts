/** The example of a first call, at the terminals of tmux. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { TEST_LIMIT_MS } from '../limit.ts'

const skip = existsSync('/usr/bin/tmux') ? false : 'no tmux'

test('from nothing to a verified call in eight commands', { skip }, async (t) => {
  const { stdout } = await promisify(execFile)(join(ROOT, 'examples/first-call.sh'), {
    env: { ...process.env, TMPDIR: freshFolder(t) },
    timeout: TEST_LIMIT_MS,
  })
  assert.match(stdout, /^Verified: the words of Bob\.$/m)
  assert.match(stdout, /^Verified: the words of Ada\.$/m)
  assert.match(stdout, /\n8 commands, [\d.]+ seconds of waiting\n$/)
})
