/**
 * The commands that need an account server, with a daemon and without: sign-in, devices,
 * organisations, machines.
 */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { serveAccount } from '../../src/daemon/account-server.ts'
import { readConfig } from '../../src/config/config.ts'
import { EXIT } from '../../src/errors.ts'
import { newLog } from '../../src/log.ts'
import type { Json } from '../e2e/caller.ts'
import { environment, folder } from '../e2e/program.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'
import { across } from './across.ts'
import { daemonHere, terminal, type CommandResult, type Typed } from './terminal.ts'

const FOUR_WORDS = /^[a-z]+( [a-z]+){3}\n$/

for (const mode of ['a daemon runs', 'no daemon runs'] as const)
  describe(`an account server; ${mode}`, () => {
    const dir = folder()
    const mail = join(dir.path, 'mail')
    const log: string[] = []
    const daemons: Awaited<ReturnType<typeof daemonHere>>[] = []
    const devices = new Map<
      string,
      (args: readonly string[], more?: Typed) => Promise<CommandResult>
    >()
    let server: Awaited<ReturnType<typeof serveAccount>>

    before(async () => {
      const state = join(dir.path, 'server')
      const config = readConfig(environment(state, { SVC_MAIL_DIR: mail }))
      server = await serveAccount(
        config,
        newLog('debug', (line) => log.push(line)),
      )
    })
    after(async () => {
      for (const daemon of daemons) await daemon.close()
      await server.close()
      dir.remove()
    })

    /** Returns the command line of a device. Starts its daemon in the mode that has one. */
    async function device(name: string) {
      const known = devices.get(name)
      if (known !== undefined) return known
      const state = join(dir.path, name)
      const env = { SVC_BACKEND_URL: server.address }
      if (mode === 'a daemon runs') daemons.push(await daemonHere(state, 'debug', env))
      const run = terminal(state)
      const cli = (args: readonly string[], more: Typed = {}) =>
        run(args, { ...more, env: { ...env, ...more.env } })
      devices.set(name, cli)
      return cli
    }
    const on = async (name: string, args: readonly string[], more?: Typed) =>
      (await device(name))(args, more)
    const good = async (name: string, args: readonly string[], more?: Typed) => {
      const result = await on(name, args, more)
      assert.equal(result.code, EXIT.ok, result.err)
      return result
    }
    const json = async (name: string, args: readonly string[], more?: Typed): Promise<Json> => {
      const { out, err } = await good(name, [...args, '--json'], more)
      assert.equal(err, '', 'nothing beside the JSON')
      return JSON.parse(out)
    }
    const codeFor = async (email: string) => {
      // Other letters arrive at any time.
      const letter = (await lettersIn(mail, email)).findLast(hasCode)
      return letter === undefined ? assert.fail(`no code for ${email}`) : codeIn(letter)
    }
    /** The mail is sent before the first prompt. */
    const fromMail = (email: string): Typed => {
      let asked = false
      const person = () => {
        if (asked) return null
        asked = true
        return codeFor(email)
      }
      return { person }
    }

    it('login, whoami, a second device, logout', async () => {
      const email = 'ada@example.org'
      const nobody = await on('desk', ['whoami'])
      assert.deepEqual([nobody.code, /^State +signed out\n/.test(nobody.out)], [EXIT.failed, true])
      const denied = await on('desk', ['device', 'list'])
      assert.deepEqual([denied.code, denied.out], [EXIT.failed, ''])
      assert.match(denied.err, /countersignd login/)

      await good('desk', ['login', '--email', email], fromMail(email))
      const { user, device: own, sign_in } = await json('desk', ['whoami'])
      assert.deepEqual([user.email, own.current, sign_in.state], [email, true, 'signed_in'])

      const { login: done, approve: shown } = await across(
        (person) => on('laptop', ['login', '--email', email], { person }),
        (person) => on('desk', ['device', 'approve'], { person }),
        () => codeFor(email),
      )
      assert.equal(shown.code, EXIT.ok, shown.err)
      assert.match(shown.out, FOUR_WORDS)
      assert.equal(done.code, EXIT.ok, done.err)
      assert.match(done.out, new RegExp(`^Signed in to ${user.id} as ${email}`))
      const { items } = await json('laptop', ['device', 'list'])
      assert.deepEqual(
        items.map((item: Json) => [item.current, item.state]),
        [
          [true, 'active'],
          [false, 'active'],
        ],
      )

      const revoked = await good('desk', ['device', 'revoke', items[0].id])
      assert.deepEqual(revoked, { code: EXIT.ok, out: '', err: `Revoked ${items[0].id}.\n` })
      const gone = await on('laptop', ['device', 'list'])
      assert.deepEqual([gone.code, gone.out], [EXIT.failed, ''])
      const stays = await on('laptop', ['logout'])
      assert.deepEqual([stays.code, stays.out], [EXIT.failed, ''])
      assert.match(stays.err, /logout --forget/)
      const still = await on('laptop', ['login', '--email', email], fromMail(email))
      assert.deepEqual([still.code, still.out], [EXIT.failed, ''])
      assert.match(still.err, /was revoked.*countersignd logout --forget/)
      await good('laptop', ['logout', '--forget'])
      const last = await on('desk', ['logout'])
      assert.deepEqual([last.code, last.out], [EXIT.failed, ''])
      await good('desk', ['logout', '--last-device'])
      await good('desk', ['reset', '--email', email, '--yes'], fromMail(email))
      assert.equal((await json('desk', ['whoami'])).user.id, user.id)
    })

    it('rejects a wrong code, and an API token for requests of the command line alone', async () => {
      const args = ['login', '--email', 'bob@example.org']
      const wrong = await on('bob', args, { input: 'AAAA-AAAA-AAAA-AAAA\n' })
      assert.deepEqual([wrong.code, wrong.out], [EXIT.failed, ''])
      assert.match(wrong.err, /wrong, used or expired/)
      await good('bob', args, { input: await codeFor('bob@example.org') })
      const made = await json('bob', ['token', 'create', '--name', 'x', '--scope', 'full'])
      const env = { SVC_TOKEN: made.token }
      const refused = await on('bob', ['logout', '--last-device'], { env })
      assert.deepEqual(refused, {
        code: EXIT.failed,
        out: '',
        err: 'countersignd: An API token cannot be used for this command. Unset SVC_TOKEN and SVC_TOKEN_FILE.\n',
      })
      const { user, sign_in } = await json('bob', ['whoami'], { env })
      assert.deepEqual([user.email, sign_in], ['bob@example.org', null])
    })

    it('org create, machine create, machine token, login --machine', async () => {
      const email = 'carol@example.org'
      await good('carol', ['login', '--email', email], fromMail(email))
      const org = await json('carol', ['org', 'create', 'Acme'])
      assert.match(org.id, /^org_\w{26}$/)
      const file = join(dir.path, 'bot.json')
      const args = ['machine', 'create', '--org', 'Acme', '--name', 'bot', '--key-file', file]
      const made = await json('carol', args)
      const text = readFileSync(file, 'utf8')
      const key = JSON.parse(text) as Json
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.deepEqual(
        [key.kty, key.crv, key.alg, key.machine, key.token_endpoint],
        ['OKP', 'Ed25519', 'Ed25519', made.machine_id, `${server.address}/oauth/token`],
      )
      const again = await on('carol', args)
      assert.deepEqual([again.code, again.out], [EXIT.failed, ''])
      assert.match(again.err, /bot\.json already exists\. Name another file/)
      assert.equal(readFileSync(file, 'utf8'), text)

      const token = ['machine', 'token', '--key-file', file, '--scope', 'read']
      const alone = await good('nobody', token)
      assert.match(alone.out, /^csm_[0-9A-Za-z]{36}\n$/)
      const whole = await json('nobody', token)
      assert.deepEqual([whole.token_type, whole.scope], ['Bearer', 'read'])
      const env = { SVC_TOKEN: alone.out.trim() }
      const { user } = await json('carol', ['whoami'], { env })
      assert.deepEqual([user.id, user.kind], [made.machine_id, 'machine'])
      const unknown = `csm_${'0'.repeat(36)}`
      const ended = await on('carol', ['whoami'], { env: { SVC_TOKEN: unknown } })
      assert.equal(ended.code, EXIT.failed)
      assert.match(
        ended.err,
        /expired or revoked\. Get another one with "countersignd machine token/,
      )
      assert(!ended.err.includes(unknown))

      const credentials = join(dir.path, 'credentials')
      mkdirSync(credentials)
      writeFileSync(join(credentials, 'countersign-machine-key'), text, { mode: 0o400 })
      const byCredential = { env: { CREDENTIALS_DIRECTORY: credentials } }
      for (const [name, given, more] of [
        ['rack', ['--key-file', file], {}],
        ['rack', [], byCredential],
      ] as const) {
        const signedIn = await good(name, ['login', '--machine', ...given], more)
        assert.match(signedIn.out, /^Signed in to acc_\w{26}\.\n$/)
      }
      const { user: rack, sign_in } = await json('rack', ['whoami'])
      assert.deepEqual([rack.id, rack.kind], [sign_in.account_id, 'machine'])
      const seen = [...log, ...daemons.map((daemon) => daemon.log())].join('')
      for (const secret of [key.d, alone.out.trim(), whole.access_token])
        assert(!seen.includes(secret), 'a secret in a log')
    })

    it('a rejected machine account leaves no key file', async () => {
      const file = join(dir.path, 'none.json')
      const create = (org: string, name = 'bot') =>
        on('carol', ['machine', 'create', '--org', org, '--name', name, '--key-file', file])
      const cases: [org: string, name: string, says: RegExp][] = [
        ['Nowhere', 'bot', /Nothing here is called "Nowhere"/],
        [`org_${'0'.repeat(26)}`, 'bot', /./],
        ['Acme', '\u001b[2J', /change the text direction/],
      ]
      for (const [org, name, says] of cases) {
        const { code, out, err } = await create(org, name)
        assert.deepEqual([code, out], [EXIT.failed, ''])
        assert.match(err, says)
        assert(!existsSync(file), org)
      }
      symlinkSync(join(dir.path, 'elsewhere'), file)
      const { code, err } = await create('Acme')
      assert.equal(code, EXIT.failed)
      assert.match(err, /already exists/)
      assert(!existsSync(join(dir.path, 'elsewhere')), 'no link is followed')
    })
  })

describe('a machine account’s key file', () => {
  const dir = folder()
  const cli = terminal(join(dir.path, 'state'))
  after(() => dir.remove())
  const key = {
    kty: 'OKP',
    crv: 'Ed25519',
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
    machine: `mch_${'0'.repeat(26)}`,
    token_endpoint: 'http://127.0.0.1:9/oauth/token',
  }
  const { machine: _, ...half } = key
  const unfit: [what: string, text: string, mode: number, exit: number, says: RegExp][] = [
    [
      'open to others',
      JSON.stringify(key),
      0o644,
      EXIT.stateUnsafe,
      /accessible to other users.*chmod/,
    ],
    ['invalid JSON', `{"d":"${key.d}"`, 0o600, EXIT.configuration, /is not JSON/],
    ['a key without its machine', JSON.stringify(half), 0o600, EXIT.configuration, /machine/],
    [
      'a key for http on another machine',
      JSON.stringify({ ...key, token_endpoint: 'http://far.example/oauth/token' }),
      0o600,
      EXIT.configuration,
      /must be reached by https/,
    ],
    [
      'a key for an invalid URL',
      JSON.stringify({ ...key, token_endpoint: 'x' }),
      0o600,
      EXIT.configuration,
      /is not a URL/,
    ],
    ['a key for an unreachable server', JSON.stringify(key), 0o600, EXIT.failed, /127\.0\.0\.1:9/],
  ]
  for (const [what, text, mode, exit, says] of unfit)
    it(`${what}: rejected without quoting the file`, async () => {
      const path = join(dir.path, `${what}.json`)
      writeFileSync(path, text)
      chmodSync(path, mode)
      const { code, out, err } = await cli(['machine', 'token', '--key-file', path])
      assert.deepEqual([code, out], [exit, ''], err)
      assert.match(err, says)
      assert(!err.includes(key.d))
    })

  it('a missing key file', async () => {
    const { code, err } = await cli(['login', '--machine', '--key-file', join(dir.path, 'none')])
    assert.equal(code, EXIT.configuration)
    assert.match(err, /There is no file/)
  })

  const answers: [what: string, status: number, body: string, says: RegExp][] = [
    [
      'an error (RFC 6749 section 5.2)',
      401,
      '{"error":"invalid_client","error_description":"unknown \\u001b[2Jkey"}',
      /The account server issued no token \(invalid_client\): unknown �\[2Jkey Check that http:\S+ is the SVC_PUBLIC_URL of the server, that the clock of this machine is right/,
    ],
    ['a page', 200, '<html>', /not in the form of a token endpoint/],
    ['a redirect', 302, '', /answered with status 302, and not in the form of a token endpoint/],
    ['an incomplete token', 200, '{"access_token":"csm_x"}', /not in the form of a token endpoint/],
  ]
  for (const [what, status, body, says] of answers)
    it(`the token endpoint answers with ${what}`, async (t) => {
      const asked: string[] = []
      const server = createServer((req, res) => {
        req.setEncoding('utf8').on('data', (text: string) => asked.push(text))
        req.once('end', () => res.writeHead(status, { Location: '/x' }).end(body))
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      t.after(() => server.close())
      const { port } = server.address() as AddressInfo
      const path = join(dir.path, `${status}-${body.length}.json`)
      const token_endpoint = `http://127.0.0.1:${port}/oauth/token`
      writeFileSync(path, JSON.stringify({ ...key, token_endpoint }), { mode: 0o600 })
      const { code, out, err } = await cli(['machine', 'token', '--key-file', path])
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
      assert.equal(asked.length, 1, 'asked once, nothing followed')
      const form = new URLSearchParams(asked[0])
      assert.equal(form.get('grant_type'), 'client_credentials')
      assert(!asked.join('').includes(key.d))
    })
})
