/** A purge removes all that the program made on a machine, and nothing else. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { purge } from '../../src/cli/commands/purge.ts'
import { EXIT } from '../../src/errors.ts'
import { loadKeyring } from '../../src/keychain/os.ts'
import { lockState } from '../../src/storage/lock.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { bareEnvironment, noSession, notHere, unlocked } from '../keychain/session.ts'
import { daemonHere, terminal } from './terminal.ts'

/** Purges a folder and returns the messages about what is left. */
async function purged(stateDir: string): Promise<string[]> {
  const messages: string[] = []
  await purge({ stateDir }, (text) => messages.push(text))
  return messages
}

/** Creates a state folder with every file that a daemon makes there. */
async function used(t: TestContext): Promise<string> {
  const stateDir = join(freshFolder(t), 'state')
  const daemon = await daemonHere(stateDir, 'error')
  const run = terminal(stateDir)
  try {
    for (const args of [
      ['token', 'create', '--name', 'one', '--scope', 'read'],
      ['guest', 'create', '--label', 'A friend'],
      ['email', 'add', 'ann@example.org'],
    ]) {
      const { code, err } = await run(args)
      assert.equal(code, EXIT.ok, err)
    }
  } finally {
    await daemon.close()
  }
  for (const name of ['secret.tmp', 'state.db.v2.backup', 'account.db.copy.tmp', 'keyring-77.node'])
    writeFileSync(join(stateDir, name), 'left', { mode: 0o600 })
  writeFileSync(join(stateDir, 'audit-000000000012.jsonl'), '', { mode: 0o600 })
  assert(readdirSync(join(stateDir, 'mail')).length > 0)
  return stateDir
}

/** Creates the same folder, owned by another user. */
async function strange(t: TestContext): Promise<string> {
  const stateDir = await used(t)
  chownSync(stateDir, 65_534, 65_534)
  for (const entry of readdirSync(stateDir, { withFileTypes: true, recursive: true }))
    chownSync(join(entry.parentPath, entry.name), 65_534, 65_534)
  return stateDir
}

/** Asserts that a purge removes nothing while another process owns the lock. */
async function assertRefusedWhileHeld(stateDir: string): Promise<void> {
  const lock = lockState(stateDir)
  assert(lock)
  const before = readdirSync(stateDir)
  await assert.rejects(purged(stateDir), { exit: EXIT.stateInUse })
  assert.deepEqual(readdirSync(stateDir), before)
  lock.release()
}

describe('a purge', () => {
  it('removes the folder with its content', async (t) => {
    const stateDir = await used(t)
    assert.deepEqual(await purged(stateDir), [])
    assert(!existsSync(stateDir))
  })

  it('of a missing folder does nothing', async (t) => {
    assert.deepEqual(await purged(join(freshFolder(t), 'nowhere')), [])
  })

  it('keeps and names foreign files, and follows no link', async (t) => {
    const stateDir = await used(t)
    const elsewhere = freshFolder(t)
    writeFileSync(join(elsewhere, 'state.db-wal'), 'of somebody')
    const foreign = ['notes.txt', 'keychain/notes.txt', 'mail/notes.txt', 'state.db.old']
    for (const name of foreign) writeFileSync(join(stateDir, name), 'mine')
    symlinkSync(join(elsewhere, 'state.db-wal'), join(stateDir, 'state.db-wal'))
    symlinkSync(elsewhere, join(stateDir, 'restoring'))
    mkdirSync(join(stateDir, 'photos'))
    const left = [...foreign, 'state.db-wal', 'restoring', 'photos'].map((name) =>
      join(stateDir, name),
    )
    const messages = await purged(stateDir)
    assert.deepEqual(
      messages.toSorted(),
      left.map((path) => `${path} was not created by this program, so it is kept.`).toSorted(),
    )
    for (const path of left) assert(existsSync(path), path)
    assert.deepEqual(readdirSync(elsewhere), ['state.db-wal'])
    assert.deepEqual(readdirSync(join(stateDir, 'keychain')), ['notes.txt'])
  })

  it('is rejected while another process has the lock, and removes nothing then', async (t) => {
    const stateDir = await used(t)
    await assertRefusedWhileHeld(stateDir)
  })

  it('of a link is rejected', async (t) => {
    const stateDir = await used(t)
    const link = join(freshFolder(t), 'link')
    symlinkSync(stateDir, link)
    await assert.rejects(purged(link), { exit: EXIT.stateUnsafe })
    assert(existsSync(join(stateDir, 'state.db')))
  })

  it(
    'is rejected if the keychain with the secrets is unavailable',
    { skip: notHere },
    async (t) => {
      const stateDir = await used(t)
      const record = { backend: 'os', store: '00'.repeat(16) }
      writeFileSync(join(stateDir, 'keychain.json'), JSON.stringify(record), { mode: 0o600 })
      const env = { ...process.env, DBUS_SESSION_BUS_ADDRESS: `unix:path=${stateDir}/nothing` }
      const args = [join(import.meta.dirname, 'purging.ts'), stateDir]
      const { stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
      assert.equal(stdout, 'keychain_locked\n')
      assert(existsSync(join(stateDir, 'state.db')))
    },
  )

  const asRoot = process.geteuid?.() === 0 ? false : 'needs root, to give files away'
  describe('by root, of the folder of another user', { skip: asRoot }, () => {
    for (const [way, mode] of [
      ['closed to that user', 0o700],
      ['open', 0o711],
    ] as const)
      it(`removes the state of a service user, with a parent folder that is ${way}`, async (t) => {
        const stateDir = await strange(t)
        chmodSync(dirname(stateDir), mode)
        assert.deepEqual(await purged(stateDir), [])
        assert(!existsSync(stateDir))
      })

    it('removes nothing that this user could not remove', async (t) => {
      const stateDir = await strange(t)
      const mail = join(stateDir, 'mail')
      const letters = readdirSync(mail)
      // As if another folder replaced it between the check and the removal.
      chownSync(mail, 0, 0)
      await assert.rejects(purged(stateDir), {
        message: /^As user 65534, .*permissions of "mail" do not allow this/,
      })
      assert.deepEqual(readdirSync(mail), letters)
    })

    it('reports that secrets in the keychain of that user stay, and does not access it', async (t) => {
      const stateDir = await strange(t)
      const record = { backend: 'os', store: '00'.repeat(16) }
      writeFileSync(join(stateDir, 'keychain.json'), JSON.stringify(record))
      const [message = '', ...more] = await purged(stateDir)
      assert.match(message, /keychain of user 65534\. Root cannot delete them there/)
      assert.deepEqual(more, [])
      assert(!existsSync(stateDir))
    })

    it('names remaining files, without terminal controls', async (t) => {
      const stateDir = await strange(t)
      writeFileSync(join(stateDir, 'notes\u001b[2J'), 'mine')
      const messages = await purged(stateDir)
      const path = join(stateDir, 'notes\ufffd[2J')
      assert.deepEqual(messages, [`${path} was not created by this program, so it is kept.`])
      assert.deepEqual(readdirSync(stateDir), ['notes\u001b[2J'])
    })

    for (const mode of [0o700, 0o711])
      it(`is rejected while another process has the lock (mode ${mode.toString(8)})`, async (t) => {
        const stateDir = await strange(t)
        chmodSync(dirname(stateDir), mode)
        await assertRefusedWhileHeld(stateDir)
      })

    it('loads no library from there', async (t) => {
      const stateDir = freshFolder(t)
      chownSync(stateDir, 65_534, 65_534)
      await assert.rejects(loadKeyring(stateDir), { exit: EXIT.stateUnsafe })
    })
  })
})

it('secrets in the Secret Service are removed, too', { skip: noSession }, (t) => {
  const script = join(import.meta.dirname, 'os-keychain.session.ts')
  const [program, ...words] = unlocked(process.execPath, '--test-reporter=tap', script)
  const env = bareEnvironment(freshFolder(t))
  const { status, stdout, stderr } = spawnSync(program, words, { env, encoding: 'utf8' })
  assert.equal(status, 0, `${stdout}\n${stderr}`)
  assert.match(stdout, /^# pass 5$/m)
})
