/** The lock of a state folder, where another process removes its file. */
import assert from 'node:assert/strict'
import fs, { rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { lockState } from '../../src/storage/lock.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

/** Calls `meanwhile` between the opening of the lock file and the comparison of its inode. */
function beforeComparison(t: TestContext, meanwhile: () => void): void {
  const { statSync } = fs
  let calls = 0
  const mocked = t.mock.method(fs, 'statSync', (...given: Parameters<typeof statSync>) => {
    if ((calls += 1) === 2) meanwhile()
    return statSync(...given)
  })
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
}

/** A folder with a free lock file. */
function unlocked(t: TestContext) {
  const dir = freshFolder(t)
  lockState(dir)?.release()
  return { dir, file: join(dir, 'lock.db') }
}

test('a lock on a file that was removed meanwhile does not count', (t) => {
  const { dir, file } = unlocked(t)
  beforeComparison(t, () => rmSync(file))
  assert.equal(lockState(dir), null)
})

test('a lock on a file that was replaced meanwhile does not count', (t) => {
  const { dir, file } = unlocked(t)
  beforeComparison(t, () => {
    fs.renameSync(file, `${file}.old`)
    writeFileSync(file, '')
  })
  assert.equal(lockState(dir), null)
})

test('a lock on the unchanged file counts', (t) => {
  const { dir } = unlocked(t)
  let compared = false
  beforeComparison(t, () => {
    compared = true
  })
  const lock = lockState(dir)
  t.after(() => lock?.release())
  assert(lock !== null && compared)
})
