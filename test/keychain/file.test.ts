/** Tests the sealed files: what is on the disk, and what is refused. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../src/errors.ts'
import { openKeychain } from '../../src/keychain/keychain.ts'
import { freshFolder } from './fresh-folder.ts'
import { memoryKeychain } from './memory.ts'
import { keychainSuite, lastingSuite } from './suite.ts'

const openAt = (stateDir: string) =>
  openKeychain({ stateDir, choice: 'file', credentialsDir: null })

keychainSuite('memory', () => Promise.resolve(memoryKeychain()))
keychainSuite('file', (t) => openAt(freshFolder(t)))
lastingSuite('file', openAt, freshFolder)

const modes = process.platform === 'win32' ? 'Windows has no modes' : false
const asRoot = process.geteuid?.() === 0 ? false : 'only root can give files away'
const sealedIn = (dir: string): string => {
  const [name = assert.fail('no sealed file')] = readdirSync(join(dir, 'keychain'))
  return join(dir, 'keychain', name)
}

test('stored files are private, complete and encrypted', { skip: modes }, async (t) => {
  const dir = freshFolder(t)
  const keychain = await openAt(dir)
  keychain.set('name', 'canary')
  keychain.set('name', 'canary again')
  assert.deepEqual(readdirSync(dir).toSorted(), ['keychain', 'keychain.json', 'keychain.key'])
  assert.equal(readdirSync(join(dir, 'keychain')).length, 1)
  assert.equal(statSync(join(dir, 'keychain')).mode & 0o777, 0o700)
  for (const path of [join(dir, 'keychain.key'), join(dir, 'keychain.json'), sealedIn(dir)]) {
    assert.equal(statSync(path).mode & 0o777, 0o600, path)
    assert(!readFileSync(path).includes('canary'), path)
  }
})

test('every cut and every flipped bit is detected', async (t) => {
  const dir = freshFolder(t)
  const keychain = await openAt(dir)
  keychain.set('name', 'canary')
  const path = sealedIn(dir)
  const whole = readFileSync(path)
  const damaged = [
    ...Array.from({ length: whole.length }, (_, end) => whole.subarray(0, end)),
    ...Array.from({ length: whole.length * 8 }, (_, bit) => {
      const copy = Buffer.from(whole)
      copy[bit >> 3]! ^= 1 << (bit & 7)
      return copy
    }),
    Buffer.concat([whole, Buffer.of(0)]),
  ]
  for (const content of damaged) {
    writeFileSync(path, content)
    assert.throws(
      () => keychain.get('name'),
      (error) =>
        error instanceof AppError &&
        error.code === 'keychain_locked' &&
        error.message.includes(path) &&
        !error.message.includes('canary'),
    )
  }
  writeFileSync(path, whole)
  assert.equal(keychain.get('name'), 'canary')
})

test('a sealed file does not open under another name', async (t) => {
  const dir = freshFolder(t)
  const keychain = await openAt(dir)
  keychain.set('one', 'secret')
  const path = sealedIn(dir)
  renameSync(path, path.replace('one', 'two'))
  assert.equal(keychain.get('one'), null)
  assert.throws(() => keychain.get('two'), { code: 'keychain_locked' })
})

test('a partial write from a crash has no effect', async (t) => {
  const dir = freshFolder(t)
  const keychain = await openAt(dir)
  keychain.set('name', 'old')
  writeFileSync(`${sealedIn(dir)}.tmp`, 'half')
  assert.equal(keychain.get('name'), 'old')
  keychain.set('name', 'new')
  assert.equal(keychain.get('name'), 'new')
  assert.equal(readdirSync(join(dir, 'keychain')).length, 1)
})

const atRunTime: [string, string | false, (path: string) => void][] = [
  ['open to others', modes, (path) => chmodSync(path, 0o640)],
  ["another user's", modes || asRoot, (path) => chownSync(path, 12345, 12345)],
  [
    'behind a link',
    modes,
    (path) => {
      renameSync(path, `${path}.real`)
      symlinkSync(`${path}.real`, path)
    },
  ],
  [
    'a folder',
    modes,
    (path) => {
      rmSync(path)
      mkdirSync(path)
    },
  ],
]

for (const [what, skip, damage] of atRunTime) {
  test(`a sealed file that is ${what} is rejected`, { skip }, async (t) => {
    const dir = freshFolder(t)
    const keychain = await openAt(dir)
    keychain.set('name', 'secret')
    const path = sealedIn(dir)
    damage(path)
    assert.throws(() => keychain.get('name'), {
      name: 'AppError',
      code: 'keychain_locked',
      message: new RegExp(path),
    })
  })
}
