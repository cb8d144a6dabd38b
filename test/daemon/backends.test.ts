/** Binds a state folder to one account server, and lets daemons sign in by themselves. */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { openDaemon } from '../../src/daemon/daemon.ts'
import { machineKeyIn } from '../../src/daemon/credential.ts'
import { EXIT, StartError } from '../../src/errors.ts'
import { newLog } from '../../src/log.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { asOwner, newMachine, signIn } from '../handlers/people.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

let server: TestDaemon
before(async () => {
  server = await startDaemon()
})
after(() => server.close())

const remote = (more: Record<string, string> = {}) =>
  startDaemon({ SVC_BACKEND_URL: server.accountAddress, ...more })

const opening = (stateDir: string, env: Record<string, string> = {}) =>
  openDaemon(
    readConfig({ SVC_STATE_DIR: stateDir, SVC_KEYCHAIN: 'file', ...env }),
    newLog('error', () => undefined),
  )

const misconfigured = (says: RegExp) => (error: unknown) => {
  assert(error instanceof StartError)
  assert.equal(error.exit, EXIT.configuration)
  assert.match(error.message, says)
  return true
}

describe('a state folder', () => {
  it('of the embedded account cannot be used with an account server', async (t) => {
    const dir = freshFolder(t)
    const embedded = await opening(dir)
    await embedded.enrol()
    await embedded.close()
    await assert.rejects(
      opening(dir, { SVC_BACKEND_URL: server.accountAddress }),
      misconfigured(/holds the embedded account acc_\w+, but the environment chooses .*http:\S+\./),
    )
    await (await opening(dir)).close()
  })

  it('of an account server’s account belongs to that server, and not to the embedded one', async (t) => {
    const dir = freshFolder(t)
    const daemon = await remote({ SVC_STATE_DIR: dir })
    assert.equal((await signIn(daemon, server, 'bea@example.org')).state, 'signed_in')
    await daemon.close()
    await assert.rejects(
      opening(dir, { SVC_ENV: 'embedded' }),
      misconfigured(
        new RegExp(
          `account acc_\\w+ of the account server ${server.accountAddress}, but the environment chooses the embedded`,
        ),
      ),
    )
    assert(!existsSync(join(dir, 'account.db')), 'and no other account is made')
    const again = await startDaemon({ SVC_STATE_DIR: dir })
    t.after(() => again.close())
    const { state, email } = await asOwner<{ state: string; email: string }>(
      again,
      'GET',
      '/local/v1/sign-in',
    )
    assert.deepEqual([state, email], ['signed_in', 'bea@example.org'])
  })

  it('of one account server’s account cannot be used with another', async (t) => {
    const dir = freshFolder(t)
    const daemon = await remote({ SVC_STATE_DIR: dir })
    await signIn(daemon, server, 'cid@example.org')
    await daemon.close()
    await assert.rejects(
      opening(dir, { SVC_BACKEND_URL: 'https://other.example' }),
      misconfigured(
        new RegExp(
          `account acc_\\w+ of the account server ${server.accountAddress}, but the environment chooses https://other\\.example\\. Unset SVC_BACKEND_URL`,
        ),
      ),
    )
    // Another spelling of the same URL.
    const { port } = new URL(server.accountAddress)
    await (await opening(dir, { SVC_BACKEND_URL: `HTTP://127.0.0.1:${port}/` })).close()
  })

  it('without an account works for both, and a remote daemon has no account server', async (t) => {
    const dir = freshFolder(t)
    const daemon = await remote({ SVC_STATE_DIR: dir })
    assert.deepEqual([daemon.accountAddress, existsSync(join(dir, 'account.db'))], ['', false])
    await daemon.close()
    await (await opening(dir)).close()
  })

  it('with an unreadable authority: the error names the file and the cause', async (t) => {
    const dir = freshFolder(t)
    const env = { SVC_BACKEND_URL: 'https://accounts.example', SVC_CA_FILE: join(dir, 'none.pem') }
    await assert.rejects(opening(dir, env), misconfigured(/SVC_CA_FILE names .*none\.pem.*ENOENT/))
  })
})

describe('the session of the embedded account', () => {
  it('is marked as one without proofs; without the mark the caller’s token still works', async (t) => {
    const daemon = await startDaemon()
    t.after(() => daemon.close())
    const database = new DatabaseSync(join(daemon.stateDir, 'account.db'), { timeout: 5_000 })
    t.after(() => database.close())
    const token = await daemon.token('write')
    const body = { organisation_id: null }
    const choose = () => daemon.request('POST', '/api/v1/context/active-org', { token, body })
    assert.equal((await choose()).status, 200)
    assert.equal(database.prepare('select proven from sessions').get()?.['proven'], 2)
    database.exec('delete from sessions')
    const { status, json } = await choose()
    assert.deepEqual([status, (json as { error: string }).error], [409, 'not_signed_in'])
    assert.equal((await daemon.request('GET', '/api/v1/context', { token })).status, 200)
  })
})

describe('the key of a machine account from the service manager', () => {
  const NAME = 'countersign-machine-key'

  it('signs the daemon in at its start, and again when the session was ended', async (t) => {
    const machine = await newMachine(server)
    const credentials = freshFolder(t)
    writeFileSync(join(credentials, NAME), JSON.stringify(machine.file), { mode: 0o400 })
    const daemon = await remote({ CREDENTIALS_DIRECTORY: credentials })
    t.after(() => daemon.close())
    await daemon.logged('signed in')
    const context = () => asOwner<{ user: { id: string } }>(daemon, 'GET', '/api/v1/context')
    const account = (await context()).user.id
    assert.match(account, /^acc_/)
    await asOwner(daemon, 'POST', '/api/v1/connections', { name: 'Bank' })
    const sessions = new DatabaseSync(join(server.stateDir, 'account.db'), { timeout: 5_000 })
    sessions.prepare('delete from sessions where account_id = ?').run(account)
    sessions.close()
    assert.equal((await context()).user.id, account)
    await asOwner(daemon, 'POST', '/api/v1/connections', { name: 'Shop' })
    assert(!daemon.log.join('').includes((machine.file as { d: string }).d))
  })

  it('rejected by the server: logged, and the daemon runs', async (t) => {
    const { file } = await newMachine(server)
    const credentials = freshFolder(t)
    const other = { ...file, machine: 'mch_01k9zq3v5w8x2y4z6a8b0c2d4e' }
    writeFileSync(join(credentials, NAME), JSON.stringify(other), { mode: 0o400 })
    const daemon = await remote({ CREDENTIALS_DIRECTORY: credentials })
    t.after(() => daemon.close())
    await daemon.logged('could not sign in with the key of the machine account')
    assert.equal((await daemon.request('GET', '/health')).status, 200)
    assert(!daemon.log.join('').includes((file as { d: string }).d))
  })

  it('missing or invalid', (t) => {
    const credentials = freshFolder(t)
    assert.deepEqual([machineKeyIn(null), machineKeyIn(credentials)], [null, null])
    for (const text of ['', '{}', '{"kty":"OKP","d":"SECRET"}']) {
      writeFileSync(join(credentials, NAME), text)
      assert.throws(
        () => machineKeyIn(credentials),
        (error: unknown) => {
          assert(error instanceof StartError)
          assert.match(error.message, /not a key file of a machine account/)
          return !error.message.includes('SECRET')
        },
      )
    }
  })
})
