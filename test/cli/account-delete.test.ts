/** `account delete`, at a terminal and in a script, with a daemon and without. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { joinMembers, newCliFixture } from './cli-fixture.ts'
import { daemonHere, terminal } from './terminal.ts'

describe('account delete with an account server, without a daemon', () => {
  it('asks for the address, and does nothing without it', async (t) => {
    const fixture = await newCliFixture(t)
    const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
    const { id } = await ada.json('connection', 'create', '--name', 'Tea')
    await joinMembers(ada, id, [bob])
    const script = await ada.on(['account', 'delete'])
    assert.deepEqual([script.code, script.out], [EXIT.failed, ''])
    assert.match(script.err, /Nothing was done.*--yes/)
    for (const typed of ['yes', '', 'bob@example.org', null]) {
      const no = await ada.on(['account', 'delete'], { person: () => typed })
      assert.deepEqual([no.code, no.out], [EXIT.failed, ''])
      assert.match(no.err, /No one can restore it/)
      assert.match(no.err, /Nothing was done\.\n$/)
    }
    assert.equal((await ada.json('whoami')).user.id, ada.id)

    const yes = await ada.good(['account', 'delete'], { person: () => 'ADA@example.org' })
    assert.equal(yes.out, '')
    assert.match(
      yes.err,
      /Deleted the account ada@example\.org and all its data on this device\.\n$/,
    )
    assert.match(await ada.refused('account', 'delete', '--yes'), /This device is not signed in/)
    await bob.good(['sync'])
    const { members } = await bob.json('connection', 'show', id)
    assert.deepEqual(
      members.map(({ user_id }: { user_id: string }) => user_id),
      [bob.id],
    )
  })

  it('deletes an organisation without other members, too', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    await ada.json('org', 'create', 'Tea house')
    assert.deepEqual(await ada.json('account', 'delete', '--yes'), {
      account_id: ada.id,
      state: 'deleted',
    })
  })
})

describe('account delete of the embedded account, by its id', () => {
  const embedded = async (t: TestContext, withDaemon: boolean, env: NodeJS.ProcessEnv = {}) => {
    const stateDir = freshFolder(t)
    if (withDaemon) {
      const daemon = await daemonHere(stateDir, 'debug', env)
      t.after(() => daemon.close())
    }
    const run = terminal(stateDir)
    const whoami = async () => {
      const { out } = await run(['whoami', '--json'])
      return (JSON.parse(out) as { sign_in: { account_id: string | null } }).sign_in.account_id
    }
    return { run, whoami, stateDir }
  }

  for (const withDaemon of [false, true])
    it(withDaemon ? 'a daemon runs' : 'no daemon runs', async (t) => {
      const { run, whoami } = await embedded(t, withDaemon)
      await run(['guest', 'list'])
      const id = await whoami()
      const result = await run(['account', 'delete'], { person: () => id })
      assert.equal(result.code, EXIT.ok, result.err)
      assert.match(result.err, new RegExp(`Deleted the account ${id}`))
      assert.equal(await whoami(), null)
      // Without a daemon, the next command that needs an account creates a new one.
      const { code } = await run(['guest', 'list'])
      assert.equal(code, withDaemon ? EXIT.failed : EXIT.ok)
      if (!withDaemon) assert.notEqual(await whoami(), id)
    })

  it('is confirmed only by the id, as there is no address', async (t) => {
    const { run, whoami } = await embedded(t, true)
    const id = await whoami()
    for (const typed of ['no', '', 'null', null]) {
      const result = await run(['account', 'delete'], { person: () => typed })
      assert.deepEqual([result.code, result.out], [EXIT.failed, ''])
      assert.match(result.err, /Nothing was done\.\n$/)
      assert.equal(await whoami(), id)
    }
  })

  it('a daemon asks for a restart after its account was deleted', async (t) => {
    const { run } = await embedded(t, true)
    await run(['account', 'delete', '--yes'])
    const calls = [['connection', 'list'], ['sync'], ['login', '--email', 'a@example.org']]
    for (const words of calls) {
      const result = await run(words)
      assert.match(result.err, /Restart the daemon/, words.join(' '))
      assert.doesNotMatch(result.err, /countersignd login/)
    }
    const { out } = await run(['status'])
    assert.match(out, /Restart the daemon/)
  })

  it('deletes all letters in its own folder, and keeps those of others in the operator’s', async (t) => {
    const elsewhere = freshFolder(t)
    for (const env of [{}, { SVC_MAIL_DIR: elsewhere }]) {
      const { run, stateDir } = await embedded(t, true, env)
      const dir = env.SVC_MAIL_DIR ?? join(stateDir, 'mail')
      mkdirSync(dir, { recursive: true })
      const letter = `2026-01-01T00-00-00-000Z-${'a'.repeat(26)}.eml`
      writeFileSync(join(dir, letter), 'To: stranger@example.org\r\n\r\nHello')
      const result = await run(['account', 'delete', '--yes'])
      assert.equal(result.code, EXIT.ok, result.err)
      assert.deepEqual(readdirSync(dir), dir === elsewhere ? [letter] : [])
    }
  })

  it('with a write token, which ends with the account', async (t) => {
    const { run, whoami } = await embedded(t, true)
    const id = await whoami()
    const { out } = await run(['token', 'create', '--name', 'x', '--scope', 'write'])
    const env = { SVC_TOKEN: out.trim() }
    const result = await run(['account', 'delete', '--yes', '--json'], { env })
    assert.deepEqual([result.code, result.err], [EXIT.ok, ''])
    assert.deepEqual(JSON.parse(result.out), { account_id: id, state: 'deleted' })
    const again = await run(['account', 'delete', '--yes'], { env })
    assert.deepEqual([again.code, again.out], [EXIT.failed, ''])
    assert.match(again.err, /wrong, expired or revoked/)
  })
})
