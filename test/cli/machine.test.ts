/**
 * `machine create` against an account server in this process: no failure deletes a key that an
 * account may use.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { AppError, type ErrorCode, EXIT, StartError } from '../../src/errors.ts'
import { enrolled } from '../device/enrolled.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { scripted } from '../remote/scripted.ts'
import { call } from './calling.ts'

type Create = Api['machines']['create']

/**
 * Creates an account with an organisation, and a path for a machine’s key. `create` replaces the
 * request to the server.
 */
async function setUp(t: TestContext) {
  const { account } = await enrolled(t)
  const org = await account.organisations.create({ body: { name: 'Acme' } })
  const path = join(freshFolder(t), 'bot.jwk')
  const run = (create: Create = account.machines.create, named = 'Acme', key = path) =>
    call({ context: account.context, machines: { create } }, [
      'machine create',
      '--org',
      named,
      '--name',
      'bot',
      '--key-file',
      key,
    ])
  const key = () => JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>
  return { account, org, path, run, key }
}

const failing = (code: ErrorCode) => new AppError(code, 'It failed.')

describe('machine create with a lost answer', () => {
  const codes: readonly ErrorCode[] = [
    'backend_timeout',
    'backend_error',
    'backend_unavailable',
    'in_progress',
    'internal',
    'not_signed_in',
    'rate_limited',
  ]
  const faults: [what: string, error: Error][] = [
    ...codes.map((code): [string, Error] => [code, failing(code)]),
    ['from a daemon that died', new Error('socket hang up')],
    ['from a daemon that stopped answering', new StartError('daemonSilent', 'It does not answer.')],
  ]
  for (const [what, error] of faults)
    it(`${what}: the same command finishes, and makes one account`, async (t) => {
      const { account, path, run, key } = await setUp(t)
      let made = ''
      const lost = await run(async (input) => {
        made = (await account.machines.create(input)).machine_id
        throw error
      })
      assert.deepEqual([lost.code, lost.out], [EXIT.failed, ''])
      assert.match(lost.err, /It is not known whether [^]*bot\.jwk\. Run the same command again/)
      assert(lost.err.endsWith(`${error.message}\n`))
      const half = key()
      assert.equal(statSync(path).mode & 0o777, 0o600)
      assert.equal(half['machine'], undefined)
      assert(!lost.err.includes(half['d'] as string))
      const early = await call({}, ['machine token', '--key-file', path])
      assert.match(early.err, /a key without a machine id.*machine create.*Run that command again/)

      const done = await run()
      assert.deepEqual([done.code, done.out], [EXIT.ok, `${made}  bot\n`])
      const whole = key()
      const { token_endpoint } = whole
      assert.deepEqual({ ...half, machine: made, token_endpoint, name: 'bot' }, whole)
      const third = await run()
      assert.match(third.err, /already exists\. Name another file/)
      assert.deepEqual(key(), whole)
    })

  it('prints the name that the owner typed, also if the account server returns another', async (t) => {
    const { account, run, key } = await setUp(t)
    const done = await run(async (of) => ({
      ...(await account.machines.create(of)),
      name: 'Your bank',
    }))
    assert.equal(done.code, EXIT.ok)
    assert.equal(key()['name'], 'bot')
  })

  it('with a lost request: the same command makes the account', async (t) => {
    const { run, key } = await setUp(t)
    await run(() => Promise.reject(failing('backend_timeout')))
    const { d } = key()
    const done = await run()
    assert.equal(done.code, EXIT.ok, done.err)
    assert.equal(key()['d'], d)
    assert.match(key()['machine'] ?? '', /^mch_/)
  })

  it('a key that may belong to an account is kept after an error', async (t) => {
    const { account, run, key } = await setUp(t)
    await run(async (input) => {
      await account.machines.create(input)
      throw failing('backend_timeout')
    })
    const half = key()
    for (const code of ['forbidden', 'validation_failed'] as const)
      assert.equal((await run(() => Promise.reject(failing(code)))).code, EXIT.failed)
    const other = await account.organisations.create({ body: { name: 'Other' } })
    const { err } = await run(undefined, other.id)
    assert.match(err, /Give the same --org and --name[^]*Another machine uses this key/)
    assert.deepEqual(key(), half)
    assert.equal((await run()).code, EXIT.ok)
  })
})

describe('machine create is rejected', () => {
  for (const code of ['validation_failed', 'forbidden', 'not_found', 'insufficient_scope'] as const)
    it(`${code}: leaves no key file`, async (t) => {
      const { path, run } = await setUp(t)
      const { err } = await run(() => Promise.reject(failing(code)))
      assert.equal(err, 'It failed.\n')
      assert(!existsSync(path))
    })

  it('two organisations with one name: the error lists both ids, and either works', async (t) => {
    const { account, org, path, run } = await setUp(t)
    const second = await account.organisations.create({ body: { name: 'Acme' } })
    const { code, err } = await run()
    assert.equal(code, EXIT.ambiguous)
    for (const id of [org.id, second.id]) assert(err.includes(id), err)
    assert(!existsSync(path))
    let asked = ''
    const done = await run((input) => {
      asked = input.body.organisation_id
      return account.machines.create(input)
    }, second.id)
    assert.deepEqual([done.code, asked], [EXIT.ok, second.id])
  })

  it('an unknown organisation: the error lists the own ones', async (t) => {
    const { path, run } = await setUp(t)
    for (const [named, says] of [
      ['Nowhere', /Nothing here is called "Nowhere"\. Organisations: "Acme" \(org_/],
      [`org_${'0'.repeat(26)}`, /no such organisation|not a member/],
    ] as const) {
      assert.match((await run(undefined, named)).err, says)
      assert(!existsSync(path))
    }
  })

  it('an impossible file: rejected before any request', async (t) => {
    const dir = freshFolder(t)
    mkdirSync(join(dir, 'folder'))
    writeFileSync(join(dir, 'text'), 'my notes', { mode: 0o600 })
    const cases: [path: string, says: RegExp][] = [
      [join(dir, 'none', 'bot.jwk'), /The folder .*none for .* does not exist\. Create it first/],
      [join(dir, 'text', 'bot.jwk'), /The folder .*text for .* does not exist/],
      [join(dir, 'text', 'none', 'bot.jwk'), /The folder .* does not exist/],
      [join(dir, 'folder'), /already exists/],
      [join(dir, 'text'), /already exists/],
    ]
    for (const [path, says] of cases) {
      const args = ['--org', 'Acme', '--name', 'bot', '--key-file', path]
      const { code, err } = await call({}, ['machine create', ...args])
      assert.equal(code, EXIT.failed)
      assert.match(err, says)
    }
    assert.equal(readFileSync(join(dir, 'text'), 'utf8'), 'my notes')
  })
})

describe('machine token', () => {
  const KEY = {
    kty: 'OKP',
    crv: 'Ed25519',
    // RFC 8037 appendix A
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwaaPJHURo',
    d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
    kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
    alg: 'Ed25519',
    machine: 'mch_00000000000000000000000000',
  }
  for (const [status, body, says] of [
    [429, { error: 'rate_limited', message: 'Slowly, please.' }, /Slowly, please/],
    [503, { error: 'backend_unavailable', message: 'No database.' }, /reports: No database/],
    [500, { error: 'internal', message: 'Oh.' }, /failed with 500/],
    [502, 'a proxy', /not ready \(502\)/],
    [
      400,
      { error: 'invalid_scope', error_description: 'No such.' },
      /issued no token \(invalid_scope\)/,
    ],
  ] as const)
    it(`${status}: the error matches the cause`, async (t) => {
      const server = await scripted(t, (res) => {
        res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
      })
      const path = join(freshFolder(t), 'key.jwk')
      const key = { ...KEY, token_endpoint: `${server.base}/oauth/token` }
      writeFileSync(path, JSON.stringify(key), { mode: 0o600 })
      const { code, out, err } = await call({}, ['machine token', '--key-file', path])
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
      assert(!err.includes(KEY.d))
      assert.equal(server.seen.length, 1)
    })
})
