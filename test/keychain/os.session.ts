/** Runs the suite over the real Secret Service; os.test.ts starts it in a separate session. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { openKeychain } from '../../src/keychain/keychain.ts'
import { freshFolder } from './fresh-folder.ts'
import { keychainSuite, lastingSuite } from './suite.ts'

const openAt = (stateDir: string) => openKeychain({ stateDir, choice: 'os', credentialsDir: null })

keychainSuite('os', (t) => openAt(freshFolder(t)))
lastingSuite('os', openAt, freshFolder)

test('auto uses the system keychain if it works', async (t) => {
  const stateDir = freshFolder(t)
  const first = await openKeychain({ stateDir, choice: 'auto', credentialsDir: null })
  assert.equal(first.backend, 'os')
  await assert.rejects(openKeychain({ stateDir, choice: 'file', credentialsDir: null }), {
    exit: EXIT.keychain,
    message: /SVC_KEYCHAIN is "file".*os keychain/,
  })
})
