/** A state folder of protocol 1 is rejected by name and left unchanged. */
import assert from 'node:assert/strict'
import { chmodSync, cpSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { countersignd } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const FIXTURE = join(import.meta.dirname, '../fixtures/first-version/state')

/** Copies the state folder of that version and restores its modes, which Git does not store. */
function firstState(t: TestContext): string {
  const dir = freshFolder(t)
  cpSync(FIXTURE, dir, { recursive: true })
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600)
  return dir
}

const DATABASES = ['state.db', 'account.db']
const bytesOf = (dir: string) => DATABASES.map((name) => readFileSync(join(dir, name)))

describe('a state folder of protocol 1', () => {
  for (const command of ['serve', 'status', 'connection list', 'sync'])
    it(`${command}: rejected as protocol 1, with its own exit code, and the folder stays unchanged`, async (t) => {
      const dir = firstState(t)
      const { code, stderr } = await countersignd(command.split(' '), dir)
      assert.equal(code, EXIT.stateOlder, stderr)
      assert.match(stderr, /state\.db was written by a countersignd of protocol 1 \(version 1;/)
      assert.match(stderr, /another SVC_STATE_DIR/)
      assert.deepEqual(bytesOf(dir), bytesOf(FIXTURE))
    })
})
