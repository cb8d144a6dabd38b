/**
 * Run by purge.slow.test.ts inside a session of its own: backup, restore and removal with secrets
 * in the Secret Service.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { purge } from '../../src/cli/commands/purge.ts'
import { EXIT } from '../../src/errors.ts'
import { readKeychain } from '../../src/keychain/keychain.ts'
import { osKeychain } from '../../src/keychain/os.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { openBackup } from './backup-reader.ts'
import { terminal } from './terminal.ts'

const PASSPHRASE = 'five words of a passphrase'
const { DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR } = process.env
const env = { SVC_KEYCHAIN: 'os', DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR }

test('secrets are backed up, restored into the system keychain, and purged from it', async (t) => {
  const place = freshFolder(t)
  const [stateDir, target] = [join(place, 'state'), join(place, 'restored')]
  const [file, passphrase] = [join(place, 'backup'), join(place, 'passphrase')]
  writeFileSync(passphrase, PASSPHRASE, { mode: 0o600 })
  const run = async (dir: string, ...args: string[]) => {
    const result = await terminal(dir)(args, { env })
    assert.equal(result.code, EXIT.ok, result.err)
    return result.out
  }
  await run(stateDir, 'token', 'create', '--name', 'one', '--scope', 'read')
  await run(stateDir, 'backup', file, '--passphrase-file', passphrase)
  const { secrets } = openBackup(readFileSync(file), PASSPHRASE).line as {
    secrets: Record<string, string>
  }
  const names = Object.keys(secrets)
  assert.deepEqual(
    names.map((name) => name.split('/')[0]),
    ['device', 'session', 'token'],
  )
  await run(target, 'restore', file, '--passphrase-file', passphrase)
  assert.match(await run(target, 'token', 'list'), /one/)

  const stores = await Promise.all(
    [stateDir, target].map(async (dir) => {
      const { store } = JSON.parse(readFileSync(join(dir, 'keychain.json'), 'utf8')) as {
        store: string
      }
      const keychain = await readKeychain({ stateDir: dir, choice: 'os', credentialsDir: null })
      for (const name of names) assert.equal(keychain?.get(name), secrets[name])
      return store
    }),
  )
  assert.notEqual(stores[0], stores[1])
  for (const dir of [stateDir, target]) {
    await purge({ stateDir: dir }, (text) => assert.fail(text))
    assert(!existsSync(dir))
  }
  for (const store of stores) {
    const keychain = await osKeychain(place, store)
    for (const name of names) assert.equal(keychain.get(name), null, name)
  }
})

test('a rejected restore leaves nothing in the keychain', async (t) => {
  const place = freshFolder(t)
  const [stateDir, target] = [join(place, 'state'), join(place, 'restored')]
  const [file, passphrase] = [join(place, 'backup'), join(place, 'passphrase')]
  writeFileSync(passphrase, PASSPHRASE, { mode: 0o600 })
  const options = ['--passphrase-file', passphrase]
  const made = await terminal(stateDir)(['backup', file, ...options], { env })
  assert.equal(made.code, EXIT.ok, made.err)
  writeFileSync(file, readFileSync(file).subarray(0, -1))
  const { code } = await terminal(target)(['restore', file, ...options], { env })
  assert.equal(code, EXIT.failed)
  assert(!existsSync(target))
})

/**
 * Creates a state folder with a token, a backup of it, and a way to list the secrets in the
 * store.
 */
async function stored(t: TestContext) {
  const place = freshFolder(t)
  const stateDir = join(place, 'state')
  const [file, passphrase] = [join(place, 'backup'), join(place, 'passphrase')]
  writeFileSync(passphrase, PASSPHRASE, { mode: 0o600 })
  const run = async (...args: string[]) => {
    const result = await terminal(stateDir)(args, { env })
    assert.equal(result.code, EXIT.ok, result.err)
  }
  await run('token', 'create', '--name', 'one', '--scope', 'read')
  await run('backup', file, '--passphrase-file', passphrase)
  const { secrets } = openBackup(readFileSync(file), PASSPHRASE).line as { secrets: object }
  const record = readFileSync(join(stateDir, 'keychain.json'), 'utf8')
  const keychain = await osKeychain(place, (JSON.parse(record) as { store: string }).store)
  const left = () => Object.keys(secrets).filter((name) => keychain.get(name) !== null)
  assert.equal(left().length, 3)
  return {
    stateDir,
    left,
    restore: async () => run('restore', file, '--passphrase-file', passphrase),
  }
}

/** Leaves a folder as a restore does that was killed while it moved files into place. */
function cutOff(stateDir: string): void {
  const staging = join(stateDir, 'restoring')
  mkdirSync(staging, { mode: 0o700 })
  renameSync(join(stateDir, 'keychain.json'), join(staging, 'keychain.json'))
}

test('a purge deletes the secrets of a restore that was cut off', async (t) => {
  const { stateDir, left } = await stored(t)
  cutOff(stateDir)
  await purge({ stateDir })
  assert.deepEqual([left(), existsSync(stateDir)], [[], false])
})

test('the next restore deletes the secrets of a restore that was cut off', async (t) => {
  const { stateDir, left, restore } = await stored(t)
  cutOff(stateDir)
  await restore()
  assert.deepEqual(left(), [])
  await purge({ stateDir })
})

test('a purge with a damaged database deletes all secrets except those of tokens', async (t) => {
  const { stateDir, left } = await stored(t)
  writeFileSync(join(stateDir, 'state.db'), 'no database'.repeat(1000))
  await purge({ stateDir })
  assert.deepEqual(
    [left().map((name) => name.split('/')[0]), existsSync(stateDir)],
    [['token'], false],
  )
})
