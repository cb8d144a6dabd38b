/** Runs a test of the executable in a session of its own, with a real Secret Service. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { exec } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { bareEnvironment, unlocked } from '../keychain/session.ts'

export async function inSession(t: TestContext, executable: string): Promise<void> {
  const script = join(import.meta.dirname, 'keychain.session.ts')
  const [program, ...words] = unlocked(process.execPath, '--test-reporter=tap', script)
  const { code, stdout, stderr } = await exec(program, words, {
    env: { ...bareEnvironment(freshFolder(t)), EXECUTABLE: executable },
  })
  assert.equal(code, 0, `${stdout}\n${stderr}`)
}
