/** Tests the record of the keychain that a state folder uses, and the key of the sealed files. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXIT, StartError } from '../../src/errors.ts'
import { openKeychain } from '../../src/keychain/keychain.ts'
import { freshFolder } from './fresh-folder.ts'

const openAt = (stateDir: string, credentialsDir: string | null = null) =>
  openKeychain({ stateDir, choice: 'file', credentialsDir })

const modes = process.platform === 'win32' ? 'Windows has no modes' : false
const asRoot = process.geteuid?.() === 0 ? false : 'only root can give files away'

const KEY = Buffer.from(Array.from({ length: 32 }, (_, i) => i + 200))
const forms: [string, string | Buffer][] = [
  ['raw', KEY],
  ['hexadecimal', KEY.toString('hex')],
  ['upper-case hexadecimal with a line end', `${KEY.toString('hex').toUpperCase()}\r\n`],
  ['base64', KEY.toString('base64')],
  ['base64 without padding', KEY.toString('base64').replace('=', '\n')],
]

function credentials(dir: string, content: string | Buffer): string {
  const path = join(dir, 'credentials')
  mkdirSync(path, { mode: 0o700, recursive: true })
  rmSync(join(path, 'countersign-key'), { force: true })
  writeFileSync(join(path, 'countersign-key'), content, { mode: 0o400 })
  return path
}

test('the credential is accepted in every format, is the same key, and makes no key file', async (t) => {
  const dir = freshFolder(t)
  for (const [form, content] of forms) {
    const keychain = await openAt(dir, credentials(dir, content))
    if (form === 'raw') keychain.set('name', 'secret')
    assert.equal(keychain.get('name'), 'secret', form)
  }
  assert(!readdirSync(dir).includes('keychain.key'))
})

for (const content of [
  '',
  'short',
  KEY.toString('hex').slice(1),
  `${KEY.toString('base64')}AAAA`,
]) {
  test(`a credential of ${content.length} characters is rejected, and not shown`, async (t) => {
    const dir = freshFolder(t)
    await assert.rejects(openAt(dir, credentials(dir, content)), (error) => {
      assert(error instanceof StartError)
      assert.equal(error.exit, EXIT.keychain)
      assert.match(error.message, /countersign-key is not a key file/)
      return content === '' || !error.message.includes(content)
    })
    assert(!readdirSync(dir).includes('keychain.json'))
  })
}

test('a credentials folder without our credential keeps the key file', async (t) => {
  const dir = freshFolder(t)
  await openAt(dir, join(dir, 'none'))
  assert(readdirSync(dir).includes('keychain.key'))
})

const RECORD = 'keychain.json'
const KEY_FILE = 'keychain.key'
const starts: [string, keyof typeof EXIT, RegExp, string | false, (dir: string) => void][] = [
  [
    'an invalid JSON record',
    'keychain',
    /damaged/,
    false,
    (d) => writeFileSync(join(d, RECORD), '{"back'),
  ],
  [
    'a record of another kind',
    'keychain',
    /damaged/,
    false,
    (d) => writeFileSync(join(d, RECORD), 'null'),
  ],
  [
    'a record of an unknown backend',
    'keychain',
    /damaged/,
    false,
    (d) => writeFileSync(join(d, RECORD), '{"backend":"tpm","store":"00"}'),
  ],
  [
    'a record others can write',
    'stateUnsafe',
    /chmod 600/,
    modes,
    (d) => chmodSync(join(d, RECORD), 0o666),
  ],
  ['no key file', 'keychain', /is missing/, false, (d) => rmSync(join(d, KEY_FILE))],
  [
    'another key',
    'keychain',
    /does not open/,
    false,
    (d) => writeFileSync(join(d, KEY_FILE), 'ab'.repeat(32)),
  ],
  [
    'half a key',
    'keychain',
    /is not a key file/,
    false,
    (d) => writeFileSync(join(d, KEY_FILE), 'ab'),
  ],
  [
    'a key file others can read',
    'stateUnsafe',
    /keychain.key.*chmod 600/,
    modes,
    (d) => chmodSync(join(d, KEY_FILE), 0o644),
  ],
  [
    'a key file of another user',
    'stateUnsafe',
    /belongs to user 12345/,
    modes || asRoot,
    (d) => chownSync(join(d, KEY_FILE), 12345, 12345),
  ],
  [
    'a folder of sealed files open to others',
    'stateUnsafe',
    /chmod 700/,
    modes,
    (d) => chmodSync(join(d, 'keychain'), 0o755),
  ],
  [
    'a key file behind a link',
    'stateUnsafe',
    /is a link/,
    modes,
    (d) => {
      renameSync(join(d, KEY_FILE), join(d, 'elsewhere'))
      symlinkSync('elsewhere', join(d, KEY_FILE))
    },
  ],
]

for (const [what, exit, message, skip, damage] of starts) {
  test(`does not start with ${what}`, { skip }, async (t) => {
    const dir = freshFolder(t)
    const keychain = await openAt(dir)
    keychain.set('name', 'secret')
    damage(dir)
    await assert.rejects(openAt(dir), { name: 'StartError', exit: EXIT[exit], message })
  })
}

test('a variable that contradicts the record does not change it', async (t) => {
  const stateDir = freshFolder(t)
  const before = await openAt(stateDir)
  before.set('name', 'secret')
  await assert.rejects(openKeychain({ stateDir, choice: 'os', credentialsDir: null }), {
    exit: EXIT.keychain,
    message: /SVC_KEYCHAIN is "os".*file keychain/,
  })
  const after = await openKeychain({ stateDir, choice: 'auto', credentialsDir: null })
  assert.equal(after.get('name'), 'secret')
})
