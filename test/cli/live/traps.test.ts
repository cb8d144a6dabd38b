/**
 * State folders that were traps: commands that made an account too early, an embedded account in
 * the way of a sign-in, a server that only a variable named, a folder of other programs. Each has
 * a way out, and nothing is lost.
 */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { purge } from '../../../src/cli/commands/purge.ts'
import { EXIT } from '../../../src/errors.ts'
import { setAside } from '../../../src/storage/set-aside.ts'
import type { Json } from '../../e2e/caller.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { codeIn, hasCode, lettersIn } from '../../service/letters.ts'
import { newCliFixture } from '../cli-fixture.ts'
import { type Person, type Typed, daemonHere, terminal } from '../terminal.ts'

/** Returns the number of accounts in the database of an embedded account server. */
function accountsIn(dir: string): number {
  const path = join(dir, 'account.db')
  if (!existsSync(path)) return 0
  const db = new DatabaseSync(path)
  const { n } = db.prepare('select count(*) as n from accounts').get() as { n: number }
  db.close()
  return n
}

/** Creates an embedded account, as the first start of a daemon does, and ends the daemon. */
const started = async (dir: string) => (await daemonHere(dir)).close()

async function setUp(t: TestContext) {
  const { server, mailDir } = await newCliFixture(t)
  const dir = join(freshFolder(t), 'state')
  const run = terminal(dir)
  const email = 'ada@example.org'
  const code = async () => codeIn((await lettersIn(mailDir, email)).filter(hasCode).at(-1)!)
  /** Signs in at the server; `first` are the answers before the code. */
  const login = (more: Typed & { args?: string[]; first?: string[] } = {}) => {
    const answers = [...(more.first ?? [])]
    const person: Person = async () => answers.shift() ?? (await code())
    return run(['login', '--email', email, ...(more.args ?? [])], {
      env: { SVC_BACKEND_URL: server },
      person,
      ...more,
    })
  }
  const json = async (...args: string[]): Promise<Json> => {
    const { code: exit, out, err } = await run([...args, '--json'])
    assert([EXIT.ok, EXIT.noDaemon].includes(exit as 0), err)
    return JSON.parse(out)
  }
  return { server, mailDir, dir, run, login, json, email }
}

/** Returns the folder in which the only account was set aside. */
function asideOf(dir: string): string {
  const [account, ...more] = readdirSync(join(dir, 'set-aside'))
  assert.deepEqual(more, [])
  return join(dir, 'set-aside', account as string)
}

describe('commands before the first account', () => {
  it('status, verify and doctor make none, and a sign-in then needs nothing else', async (t) => {
    const { dir, run, login } = await setUp(t)
    for (const args of [['status'], ['verify', 'matador', 'carload', 'recede'], ['doctor']])
      await run(args)
    assert.equal(accountsIn(dir), 0)
    const { code, err } = await login()
    assert.equal(code, EXIT.ok, err)
    assert.doesNotMatch(err, /set aside/)
  })

  it('status says that there is no account, and how to get one', async (t) => {
    const { run } = await setUp(t)
    assert.match((await run(['status'])).out, /no account on this machine yet.*countersignd serve/)
  })

  it('a command that needs an account makes one', async (t) => {
    const { dir, json } = await setUp(t)
    await json('guest', 'create', '--label', 'Mum')
    assert.equal(accountsIn(dir), 1)
  })

  for (const name of ['SVC_HTTP_PORT', 'SVC_ACCOUNT_PORT'])
    it(`a start makes none while the port of ${name} is taken, and the next start does`, async (t) => {
      const { dir, run } = await setUp(t)
      const other = createServer()
      other.listen(0, '127.0.0.1')
      await once(other, 'listening')
      t.after(() => other.close())
      const port = String((other.address() as AddressInfo).port)
      const { code } = await run(['serve'], { env: { [name]: port } })
      assert.equal(code, EXIT.portTaken)
      assert.equal(accountsIn(dir), 0)
      await started(dir)
      assert.equal(accountsIn(dir), 1)
    })
})

describe('login in a folder with an embedded account that holds nothing', () => {
  it('sets it aside by itself, after several starts and syncs too, and it can be used again', async (t) => {
    const { dir, run, login, json } = await setUp(t)
    await started(dir)
    // What an earlier version did in a new folder.
    await run(['verify', 'matador', 'carload', 'recede'])
    await run(['sync'])
    await started(dir)
    const before = await json('whoami')
    const { code, err } = await login()
    assert.equal(code, EXIT.ok, err)
    const aside = asideOf(dir)
    // Nothing of it stays behind.
    assert.deepEqual([accountsIn(dir), accountsIn(aside)], [0, 1])
    assert.match(
      err,
      new RegExp(`${before.user.id}.* was set aside in ${aside}\\. It held nothing`),
    )
    assert.match(err, new RegExp(`unset SVC_BACKEND_URL and run: SVC_STATE_DIR='${aside}' count`))
    assert.notEqual((await json('whoami')).user.id, before.user.id)
    const again = JSON.parse((await terminal(aside)(['whoami', '--json'])).out)
    assert.equal(again.user.id, before.user.id)
    await started(aside)
  })

  it('is kept by an uninstallation that removes the state, which names it', async (t) => {
    const { dir, login } = await setUp(t)
    await started(dir)
    await login()
    const aside = asideOf(dir)
    const said: string[] = []
    await purge({ stateDir: dir }, (text) => said.push(text))
    assert.match(said.join(), /set-aside is kept: it holds accounts that "countersignd login" set/)
    assert.deepEqual(readdirSync(dir), ['set-aside'])
    assert.equal(accountsIn(aside), 1)
  })

  it('sets nothing aside if the account server does not answer', async (t) => {
    const { dir, login } = await setUp(t)
    await started(dir)
    const { code, err } = await login({ env: { SVC_BACKEND_URL: 'http://127.0.0.1:1' } })
    assert.equal(code, EXIT.failed)
    assert.match(err, /127\.0\.0\.1:1 cannot be reached/)
    assert(!existsSync(join(dir, 'set-aside')))
  })

  it('sets nothing aside while a daemon uses it, and says what to do', async (t) => {
    const { dir, login } = await setUp(t)
    const daemon = await daemonHere(dir)
    t.after(() => daemon.close())
    const { code, err } = await login()
    assert.equal(code, EXIT.failed)
    assert.match(err, /running daemon \(process \d+\).*Nothing was changed\. Stop the daemon/)
    assert(!existsSync(join(dir, 'set-aside')))
  })

  it('continues after a crash while the files were moved', async (t) => {
    const { dir, json, login } = await setUp(t)
    await started(dir)
    const { user } = await json('whoami')
    const aside = join(dir, 'set-aside', user.id)
    mkdirSync(aside, { recursive: true, mode: 0o700 })
    writeFileSync(join(dir, 'set-aside', 'moving'), user.id, { mode: 0o600 })
    const { code, err } = await login()
    assert.equal(code, EXIT.ok, err)
    assert.deepEqual(readdirSync(join(dir, 'set-aside')), [user.id])
    const again = JSON.parse((await terminal(aside)(['whoami', '--json'])).out)
    assert.equal(again.user.id, user.id)
  })
})

describe('login in a folder with an embedded account that holds something', () => {
  /** An account with a guest code, a connection, a stamp and an API token. */
  async function full(t: TestContext) {
    const world = await setUp(t)
    const { json, dir } = world
    await started(dir)
    const guest = await json('guest', 'create', '--label', 'Mum')
    const connection = await json('connection', 'create', '--name', 'Bank')
    const file = join(freshFolder(t), 'contract.txt')
    writeFileSync(file, 'signed')
    await json('stamp', file)
    await json('token', 'create', '--name', 'ci', '--scope', 'read')
    return { ...world, guest, connection, user: (await json('whoami')).user }
  }

  /** Checks that a folder holds the account with everything. */
  async function requireWhole(dir: string, of: Awaited<ReturnType<typeof full>>) {
    const run = terminal(dir)
    const json = async (...args: string[]): Promise<Json> =>
      JSON.parse((await run([...args, '--json'])).out)
    assert.equal((await json('whoami')).user.id, of.user.id)
    assert.deepEqual(
      (await json('guest', 'list')).items.map(({ label }: Json) => label),
      ['Mum'],
    )
    const { words } = await json('code', of.connection.id)
    assert.match(JSON.stringify(words), /\w+/)
    assert.deepEqual(
      (await json('token', 'list')).items.map(({ name }: Json) => name),
      ['ci'],
    )
  }

  it('names what it holds and asks; any answer but yes changes nothing', async (t) => {
    const world = await full(t)
    const { code, err } = await world.login({ first: ['no'] })
    assert.equal(code, EXIT.failed)
    assert.match(err, /with 1 connection, 1 guest code, 1 stamp, 1 API token\./)
    assert.match(err, /Nothing was changed\. To keep both accounts in use, set SVC_STATE_DIR/)
    assert(!existsSync(join(world.dir, 'set-aside')))
    await requireWhole(world.dir, world)
  })

  it('without a terminal refuses, and names the option', async (t) => {
    const world = await full(t)
    const { code, err } = await world.run(['login', '--email', world.email], {
      env: { SVC_BACKEND_URL: world.server },
    })
    assert.equal(code, EXIT.failed)
    assert.match(err, /1 guest code.*Nothing was changed\..*add --set-aside/)
    await requireWhole(world.dir, world)
  })

  it('sets it aside after yes, and everything can be used again there', async (t) => {
    const world = await full(t)
    const { code, err } = await world.login({ first: ['yes'] })
    assert.equal(code, EXIT.ok, err)
    assert.equal((await world.json('guest', 'list')).items.length, 0)
    const aside = asideOf(world.dir)
    assert.equal(statSync(aside).mode & 0o777, 0o700)
    await requireWhole(aside, world)
    await started(aside)
    // The files can also be moved to a folder elsewhere.
    assert.match((await terminal(aside)(['doctor'])).out, /^ok +account +acc_\w+, .*embedded$/m)
  })

  it('with --set-aside asks nothing', async (t) => {
    const world = await full(t)
    const { code, err } = await world.login({ args: ['--set-aside'] })
    assert.equal(code, EXIT.ok, err)
    await requireWhole(asideOf(world.dir), world)
  })

  it('does not mix two accounts in one folder', async (t) => {
    const { dir, user } = await full(t)
    mkdirSync(join(dir, 'set-aside', user.id), { recursive: true, mode: 0o700 })
    assert.throws(() => setAside(dir, user.id), /exists\. Nothing was changed\./)
    assert.equal(accountsIn(dir), 1)
  })
})

describe('a folder that is signed in at an account server', () => {
  async function signedIn(t: TestContext) {
    const world = await setUp(t)
    const { code, err } = await world.login()
    assert.equal(code, EXIT.ok, err)
    return world
  }

  it('needs no SVC_BACKEND_URL: commands, the daemon and doctor use its server', async (t) => {
    const { dir, run, json, server, email } = await signedIn(t)
    // An earlier version stored the server only with the account.
    const db = new DatabaseSync(join(dir, 'state.db'))
    db.exec("delete from meta where key = 'server'")
    db.close()
    const { sign_in } = await json('whoami')
    assert.deepEqual([sign_in.state, sign_in.email], ['signed_in', email])
    assert.equal((await run(['sync'])).code, EXIT.ok)
    const daemon = await daemonHere(dir)
    t.after(() => daemon.close())
    assert.equal(daemon.accountAddress, null)
    assert.equal((await json('status')).backend, server)
    assert(!existsSync(join(dir, 'account.db')))
    const { out } = await run(['doctor'])
    assert.match(out, new RegExp(`^ok +account +acc_\\w+, device \\w+, at ${server}$`, 'm'))
  })

  it('with another server in the environment names both, and both ways on', async (t) => {
    const { run, server } = await signedIn(t)
    const other = 'https://other.example'
    const { code, err } = await run(['status'], { env: { SVC_BACKEND_URL: other } })
    assert.equal(code, EXIT.configuration)
    for (const text of [server, other, 'Unset SVC_BACKEND_URL', 'set SVC_STATE_DIR to another'])
      assert(err.includes(text), err)
    const right = await run(['status'], { env: { SVC_BACKEND_URL: server } })
    assert.equal(right.code, EXIT.noDaemon)
  })

  it('still belongs to the server after a sign-out, until the environment chooses', async (t) => {
    const { dir, run, login, json, server } = await signedIn(t)
    assert.equal((await run(['logout', '--last-device'])).code, EXIT.ok)
    assert.equal((await json('status')).backend, server)
    await started(dir)
    assert.equal(accountsIn(dir), 0)
    // A sign-in needs no variable either. The account has no device left, which its server knows.
    assert.match((await login({ env: {} })).err, /code was sent[^]*countersignd reset/)
    const daemon = await daemonHere(dir, 'error', { SVC_ENV: 'embedded' })
    await daemon.close()
    assert.equal(accountsIn(dir), 1)
    await started(dir)
    assert.equal(accountsIn(dir), 1)
  })

  it('belongs to the server as soon as a code was sent, until the sign-in is cancelled', async (t) => {
    const { run, login, json, server } = await setUp(t)
    await login({ person: async () => null })
    assert.equal((await json('status')).backend, server)
    assert.equal((await run(['logout', '--forget'])).code, EXIT.ok)
    assert.notEqual((await json('status')).backend, server)
  })
})

it('a folder of other programs: no advice to change its mode, and none of its files are named', async (t) => {
  const dir = join(freshFolder(t), 'shared')
  mkdirSync(dir)
  writeFileSync(join(dir, 'letter.txt'), '')
  chmodSync(join(dir, 'letter.txt'), 0o644)
  chmodSync(dir, 0o1777)
  for (const args of [['doctor'], ['status'], ['serve']]) {
    const { code, out, err } = await terminal(dir)(args)
    assert.notEqual(code, EXIT.ok)
    const said = `${out}${err}`
    assert.match(said, /Choose a folder of its own with SVC_STATE_DIR\./)
    assert.doesNotMatch(said, /chmod|chown|rm |letter/)
  }
  assert.deepEqual(readdirSync(dir), ['letter.txt'])
})
