/** Tests the state folder and its private files. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { readPrivate, removeFile, writeAtomic } from '../../src/keychain/private-file.ts'
import { openFolder } from '../../src/storage/folder.ts'
import {
  readRuntime,
  removeRuntime,
  stateSecret,
  writeRuntime,
} from '../../src/storage/runtime-file.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const modes = process.platform === 'win32' ? 'Windows has no modes' : false
const asRoot = process.geteuid?.() === 0 ? false : 'only root can give files away'
const modeOf = (path: string): number => statSync(path).mode & 0o777

test(
  'makes the folder and its parents, private, and restricts later files',
  { skip: modes },
  (t) => {
    const before = process.umask(0o022)
    t.after(() => process.umask(before))
    const dir = join(freshFolder(t), 'a', 'b')
    openFolder(dir)
    assert.equal(modeOf(dir), 0o700)
    assert.equal(modeOf(join(dir, '..')), 0o700)
    writeFileSync(join(dir, 'later'), '')
    assert.equal(modeOf(join(dir, 'later')), 0o600)
    openFolder(dir)
  },
)

/** The advice for a folder that other programs may use: never a change of its mode. */
const OF_ITS_OWN = /\)\. Choose a folder of its own with SVC_STATE_DIR\.$/

const folders: [string, RegExp, string | false, (path: string) => void][] = [
  [
    "readable by the group, and the program's own",
    /chmod 700/,
    modes,
    (path) => {
      mkdirChmod(path, 0o750)
      writeFileSync(join(path, 'state.db'), '')
    },
  ],
  ['readable by the group', OF_ITS_OWN, modes, (path) => mkdirChmod(path, 0o750)],
  ['searchable by others', /mode 0701/, modes, (path) => mkdirChmod(path, 0o701)],
  ['world-writable, even if sticky', OF_ITS_OWN, modes, (path) => mkdirChmod(path, 0o1777)],
  [
    'world-writable, with files of others besides its own',
    OF_ITS_OWN,
    modes,
    (path) => {
      mkdirChmod(path, 0o1777)
      for (const name of ['state.db', 'letter.txt']) writeFileSync(join(path, name), '')
    },
  ],
  ['a file', /not a folder/, false, (path) => writeFileSync(path, '')],
  [
    "another user's",
    /belongs to user 12345/,
    modes || asRoot,
    (path) => {
      mkdirChmod(path, 0o700)
      chownSync(path, 12345, 12345)
    },
  ],
  [
    'a link to a good folder',
    /is a link/,
    modes,
    (path) => {
      mkdirChmod(`${path}.real`, 0o700)
      symlinkSync(`${path}.real`, path)
    },
  ],
  ['a dangling link', /is a link/, modes, (path) => symlinkSync('/nothing/at/all', path)],
]

function mkdirChmod(path: string, mode: number): void {
  mkdirSync(path)
  chmodSync(path, mode)
}

for (const [what, message, skip, make] of folders) {
  test(`rejects a state folder that is ${what}`, { skip }, (t) => {
    const path = join(freshFolder(t), 'state')
    make(path)
    for (const spelled of [path, `${path}/`, `${path}/.`]) {
      assert.throws(() => openFolder(spelled), {
        name: 'StartError',
        exit: EXIT.stateUnsafe,
        message,
      })
    }
  })
}

test('a folder that cannot be made is named', (t) => {
  const dir = freshFolder(t)
  writeFileSync(join(dir, 'file'), '')
  const path = join(dir, 'file', 'state')
  assert.throws(() => openFolder(path), { exit: EXIT.failed, message: new RegExp(path) })
})

test(
  'a file is replaced completely, private, and leaves nothing beside it',
  { skip: modes },
  (t) => {
    const dir = freshFolder(t)
    const path = join(dir, 'file')
    assert.equal(readPrivate(path), null)
    writeFileSync(path, 'planted', { mode: 0o644 })
    writeFileSync(`${path}.tmp`, 'left over from a crash', { mode: 0o644 })
    writeAtomic(path, 'zwölf')
    assert.equal(readPrivate(path), 'zwölf')
    assert.equal(modeOf(path), 0o600)
    assert.deepEqual(readdirSync(dir), ['file'])
    assert.equal(removeFile(path), true)
    assert.equal(removeFile(path), false)
  },
)

test('a link in place of a file is replaced, not followed', { skip: modes }, (t) => {
  const dir = freshFolder(t)
  const [path, victim] = [join(dir, 'file'), join(dir, 'victim')]
  writeFileSync(victim, 'mine')
  symlinkSync(victim, path)
  symlinkSync(victim, `${path}.tmp`)
  assert.throws(() => readPrivate(path), { exit: EXIT.stateUnsafe, message: /is a link/ })
  writeAtomic(path, 'new')
  assert.equal(readFileSync(victim, 'utf8'), 'mine')
  assert.equal(readPrivate(path), 'new')
})

const files: [string, RegExp, string | false, (path: string) => void][] = [
  ['readable by the group', /chmod 600/, modes, (path) => chmodSync(path, 0o640)],
  ['writable by others', /chmod 600/, modes, (path) => chmodSync(path, 0o602)],
  ["another user's", /belongs to user/, modes || asRoot, (path) => chownSync(path, 12345, 12345)],
]

for (const [what, message, skip, damage] of files) {
  test(`does not read a file that is ${what}`, { skip }, (t) => {
    const path = join(freshFolder(t), 'file')
    writeAtomic(path, 'text')
    damage(path)
    assert.throws(() => readPrivate(path), { exit: EXIT.stateUnsafe, message })
  })
}

test('does not read, or block on, a path that is not a file', { skip: modes }, (t) => {
  const path = join(freshFolder(t), 'folder')
  mkdirSync(path)
  assert.throws(() => readPrivate(path), { exit: EXIT.stateUnsafe, message: /not a regular file/ })
})

test('runtime.json has the address of the daemon, until it is removed', (t) => {
  const dir = freshFolder(t)
  const runtime = {
    pid: 7,
    address: 'http://127.0.0.1:19821',
    socket: '/run/user/1/countersignd.sock',
    nonce: 'n',
    version: '0.1.0',
    stateVersion: null,
  }
  assert.equal(readRuntime(dir), null)
  writeRuntime(dir, runtime)
  assert.deepEqual(readRuntime(dir), runtime)
  removeRuntime(dir)
  assert.equal(readRuntime(dir), null)
  removeRuntime(dir)
})

for (const text of ['', '{', 'null', '[]', '{"pid":"7"}', '{"pid":7,"address":"a","nonce":"n"}']) {
  test(`an invalid runtime.json of ${JSON.stringify(text)} is ignored`, (t) => {
    const dir = freshFolder(t)
    writeAtomic(join(dir, 'runtime.json'), text)
    assert.equal(readRuntime(dir), null)
  })
}

test(
  'the state secret is made once, private, and differs in every folder',
  { skip: modes },
  (t) => {
    const dir = freshFolder(t)
    const made = stateSecret(dir)
    assert.equal(made.length, 32)
    assert.deepEqual(stateSecret(dir), made)
    assert.equal(modeOf(join(dir, 'secret')), 0o600)
    assert.notDeepEqual(stateSecret(freshFolder(t)), made)
  },
)

for (const text of ['', 'ab', 'z'.repeat(64)]) {
  test(`an invalid state secret of ${JSON.stringify(text)} is rejected`, (t) => {
    const dir = freshFolder(t)
    writeAtomic(join(dir, 'secret'), text)
    assert.throws(() => stateSecret(dir), { exit: EXIT.failed, message: /secret is damaged/ })
  })
}
