/** Every command with a daemon and without: the same answers, the same exit codes. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ed25519 } from '@noble/curves/ed25519.js'
import { COMMANDS } from '../../src/cli/commands.ts'
import { EXIT } from '../../src/errors.ts'
import { VERSION } from '../../src/runtime/version.ts'
import { ask, type Json } from '../e2e/caller.ts'
import { linkOf, wordsFrom } from '../e2e/peer.ts'
import { PROGRAM, ROOT, environment, exec, folder } from '../e2e/program.ts'
import { daemonHere, terminal, type Terminal } from './terminal.ts'

const WRONG = 'matador carload recede'
const WORDS = /^[a-z]+ [a-z]+ [a-z]+\n$/
const TOKEN = /^csd_[0-9A-Za-z]{36}\n$/

const now = () => Math.floor(Date.now() / 60_000)
const id = (text: string, prefix: string) => new RegExp(`${prefix}_\\w{26}`).exec(text)?.[0] ?? ''

for (const mode of ['a daemon runs', 'no daemon runs'] as const)
  describe(mode, () => {
    const dir = folder()
    let daemon: Awaited<ReturnType<typeof daemonHere>> | undefined
    let cli: Terminal
    const statusCode = mode === 'a daemon runs' ? EXIT.ok : EXIT.noDaemon
    before(async () => {
      if (mode === 'a daemon runs') daemon = await daemonHere(dir.path)
      cli = terminal(dir.path)
    })
    after(async () => {
      await daemon?.close()
      dir.remove()
    })

    /** Runs a command that must succeed, both with --json and without. */
    const json = async (...args: string[]): Promise<Json> => {
      const { code, out, err } = await cli([...args, '--json'])
      assert.equal(code, args[0] === 'status' ? statusCode : EXIT.ok, err)
      assert.equal(err, '', 'nothing beside the JSON')
      return JSON.parse(out) as Json
    }

    it('status', async () => {
      await cli(['guest', 'list'])
      const { code, out } = await cli(['status'])
      assert.equal(code, statusCode)
      const account =
        /^The account .* is on this machine only, with 0 connections and 0 guest codes\.$/m
      assert.match(out, account)
      assert.equal(out.startsWith('The daemon is not running.'), daemon === undefined)
      // The embedded account server runs in the daemon.
      assert.equal(/^Reachable +yes$/m.test(out), daemon !== undefined)
      assert.match(out, /^Keychain +encrypted files$/m)
      const { authenticated, version, environment: name, ...rest } = await json('status')
      assert.deepEqual([authenticated, version, name], [true, VERSION, 'embedded'])
      assert.equal(rest.api, daemon?.address ?? null)
      if (daemon !== undefined) assert.match(out, new RegExp(`^API +${daemon.address}$`, 'm'))
    })

    it('sync prints its result, and status shows it', async () => {
      const { code, out, err } = await cli(['sync'])
      assert.equal(code, EXIT.ok, err)
      assert.match(out, /^(Nothing new\.|Guest .*: code created\.)\n$/)
      assert.notEqual((await json('status')).last_sync_at, null)
    })

    it('the embedded account: whoami works, and signing in and out do not apply', async () => {
      const { sign_in, user, device } = await json('whoami')
      assert.deepEqual([sign_in.state, sign_in.account_id], ['signed_in', user.id])
      assert.equal(device.current, true)
      for (const args of [
        ['login', '--email', 'ada@example.org'],
        ['reset', '--email', 'ada@example.org', '--yes'],
        ['logout', '--last-device'],
      ]) {
        const { code, out, err } = await cli(args)
        assert.deepEqual([code, out], [EXIT.failed, ''])
        assert.match(err, /embedded account, which needs no sign-in.*SVC_BACKEND_URL/)
      }
      assert.equal((await json('whoami')).user.id, user.id)
    })

    it('token create, list, revoke', async () => {
      const args = ['token', 'create', '--name', 'ci', '--scope', 'read']
      const { code, out, err } = await cli([...args, '--label', 'build', '--expires-in', '30d'])
      assert.equal(code, EXIT.ok, err)
      assert.match(out, TOKEN)
      const tokenId = id(err, 'tok')
      assert.match(
        err,
        /^Name +ci\nScope +read\nValid until +.*\(in 1 month\)\nId +tok_\w+\nThe token is not shown again\.\n$/,
      )
      const made = await json('token', 'create', '--name', 'second', '--scope', 'full')
      assert.deepEqual([made.scope, made.expires_at, made.label], ['full', null, null])
      const { items } = await json('token', 'list')
      const seen = items.map((item: Json) => [item.id, item.name, item.label, item.state])
      const expected = [
        [made.id, 'second', null, 'active'],
        [tokenId, 'ci', 'build', 'active'],
      ]
      assert.deepEqual(seen, expected)
      const lifetime = Date.parse(items[1].expires_at) - Date.parse(items[1].created_at)
      assert.equal(lifetime, 30 * 24 * 3600 * 1000)
      for (const _ of ['first', 'again'])
        assert.deepEqual(await cli(['token', 'revoke', tokenId]), {
          code: EXIT.ok,
          out: '',
          err: `Revoked ${tokenId}.\n`,
        })
      const list = await cli(['token', 'list'])
      assert.match(list.out, new RegExp(`^${tokenId} +ci +read +revoked`, 'm'))
      assert(!list.out.includes('csd_'))
      const { id: third } = await json('token', 'create', '--name', 'third', '--scope', 'read')
      assert.deepEqual(await json('token', 'revoke', third), { id: third, state: 'revoked' })
    })

    it('verify with nothing cached: inconclusive', async () => {
      const { code, out } = await cli(['verify', ...WRONG.split(' ')])
      assert.equal(code, EXIT.inconclusive)
      assert.match(
        out,
        /^Cannot say: you have no contacts yet, so no caller can be recognised\. Start with "countersignd guest create"/,
      )
    })

    it('guest create, list, revoke; code; verify', async () => {
      const { code, out, err } = await cli([
        'guest',
        'create',
        '--label',
        'Ann',
        '--expires-in',
        '2h',
      ])
      assert.equal(code, EXIT.ok, err)
      const guest = linkOf(out.trim())
      assert.equal(id(err, 'gst'), guest.id)
      assert.match(err, /countersignd code Ann\n.*countersignd guest qr Ann\n$/)

      const own = await cli(['code', guest.id])
      assert.deepEqual([own.code, WORDS.test(own.out)], [EXIT.ok, true])
      assert.match(
        own.err,
        /^Valid until  .*\nThe caller speaks first\. If you were called, .*"Verified"\.\n$/,
      )
      const { guest_code_id, period_s } = await json('code', guest.id)
      assert.deepEqual([guest_code_id, period_s], [guest.id, 60])

      const words = wordsFrom({
        label: 'guest',
        k: guest.k,
        subject: guest.id,
        speaker: guest.id,
        window: now(),
      })
      const cases: [args: string[], input: string, exit: number, says: RegExp][] = [
        [words.split(' '), '', EXIT.ok, /^Verified: the words of guest "Ann"\.\n$/],
        [[words], '', EXIT.notVerified, /used before: no proof/],
        [[], `  ${words.toUpperCase()}\n`, EXIT.notVerified, /used before: no proof/],
        [own.out.trim().split(' '), '', EXIT.notVerified, /^Your own words/],
        [[], WRONG, EXIT.notVerified, /^Not verified/],
      ]
      for (const [args, input, exit, says] of cases) {
        const ended = await cli(['verify', ...args], { input })
        assert.equal(ended.code, exit, ended.out + ended.err)
        assert.match(ended.out, says)
        assert.equal(ended.err, '')
      }
      const next = wordsFrom({
        label: 'guest',
        k: guest.k,
        subject: guest.id,
        speaker: guest.id,
        window: now() + 1,
      })
      const answer = await cli(['verify', '--json', next])
      assert.deepEqual([answer.code, (JSON.parse(answer.out) as Json).verified], [EXIT.ok, true])

      for (const [typed, says] of [
        ['matador carload', /Three words are needed, but there are 2/],
        ['matadorx carload recede', /"matadorx" is not on the word list\. Did you hear .*matador/],
      ] as const) {
        const refused = await cli(['verify', typed])
        assert.deepEqual([refused.code, refused.out], [EXIT.failed, ''])
        assert.match(refused.err, says)
      }

      const list = await cli(['guest', 'list'])
      assert.match(list.out, new RegExp(`^ID .*\n${guest.id} +Ann  .*\\(in 2 hours\\)  never`))
      assert(!list.out.includes('#'), 'no link')
      assert.equal((await cli(['guest', 'revoke', guest.id])).code, EXIT.ok)
      assert.deepEqual((await json('guest', 'list')).items, [])
      assert.equal((await cli(['guest', 'list'])).err, '1 more has ended. To list all: --all\n')
      assert.equal((await json('guest', 'list', '--all')).items[0].state, 'revoked')
      assert.deepEqual(await json('guest', 'revoke', guest.id), { id: guest.id, state: 'revoked' })
      const gone = await cli(['code', guest.id])
      assert.deepEqual(
        [gone.code, gone.err],
        [EXIT.failed, 'countersignd: This guest code is revoked.\n'],
      )
    })

    it('connection create, list; code', async () => {
      const { code, out, err } = await cli(['connection', 'create', '--name', 'Bank'])
      assert.equal(code, EXIT.ok, err)
      const connection = id(out, 'con')
      assert.equal(out, `${connection}  Bank\n`)
      const { items } = await json('connection', 'list')
      const [{ name, state, secret_here }] = items
      assert.deepEqual([name, state, secret_here], ['Bank', 'pending', true])
      const table = await cli(['connection', 'list'])
      assert.match(table.out, new RegExp(`^${connection}  Bank  pending  never$`, 'm'))
      const own = await cli(['code', connection])
      assert.match(own.out, WORDS)
      assert.equal((await cli(['verify', own.out])).code, EXIT.notVerified)
      assert.match((await cli(['status'])).out, /with 1 connection and \d guest codes?\.$/m)
    })

    const nobody = '0'.repeat(26)
    const unknown: [args: string[], kind: string, list: string][] = [
      ...[`con_${nobody}`].map((name): [string[], string, string] => [
        ['code', name],
        'connection',
        'connection list',
      ]),
      ...[`gst_${nobody}`].map((name): [string[], string, string] => [
        ['code', name],
        'guest code',
        'guest list',
      ]),
      ...[`gst_${nobody}`].map((name): [string[], string, string] => [
        ['guest', 'revoke', name],
        'guest code',
        'guest list',
      ]),
      ...[`tok_${nobody}`].map((name): [string[], string, string] => [
        ['token', 'revoke', name],
        'token',
        'token list',
      ]),
    ]
    for (const [args, kind, list] of unknown)
      it(`${args.join(' ')}: reports that there is no such ${kind}`, async () => {
        assert.deepEqual(await cli(args), {
          code: EXIT.failed,
          out: '',
          err: `countersignd: There is no ${kind} with this id. "countersignd ${list}" lists the ids.\n`,
        })
      })

    it('several commands run at once', async () => {
      const commands = ['token list', 'guest list', 'status', 'token list', 'connection list']
      const ended = await Promise.all(commands.map((words) => cli(words.split(' '))))
      for (const [at, { code, err }] of ended.entries())
        assert.equal(code, commands[at] === 'status' ? statusCode : EXIT.ok, err)
    })

    it('stamp, stamp verify', async () => {
      const file = join(dir.path, 'letter.txt')
      writeFileSync(file, 'Dear Ann')
      const { code, out, err } = await cli([
        'stamp',
        file,
        '--context',
        'a letter',
        '--media-type',
        'text/plain',
      ])
      assert.equal(code, EXIT.ok, err)
      assert.match(out, /^[a-z]+ [a-z]+ [a-z]+\nhttp\S+\/s\/stm_\w{26}#[\w-]{43}\n$/)
      assert.equal(
        err,
        `Opens  only on this machine. For others: countersignd publish\nFile   ${file}.stamp\n`,
      )
      const before = readFileSync(`${file}.stamp`, 'utf8')

      const again = await cli(['stamp', file])
      assert.deepEqual([again.code, again.out], [EXIT.failed, ''])
      assert.match(again.err, /already exists\. Name another file with --out/)
      assert.equal(readFileSync(`${file}.stamp`, 'utf8'), before)
      const other = join(dir.path, 'other.stamp')
      const printed = await json('stamp', file, '--out', other)
      assert.equal((JSON.parse(readFileSync(other, 'utf8')) as Json).stamp, printed.stamp)
      const refused = await cli([
        'stamp',
        file,
        '--out',
        join(dir.path, 'no'),
        '--media-type',
        'text',
      ])
      assert.equal(refused.code, EXIT.failed)
      assert.match(refused.err, /media type/)
      assert(!existsSync(join(dir.path, 'no')), 'nothing is left of a stamp that failed')

      const good = await cli(['stamp', 'verify', file, `${file}.stamp`])
      assert.equal(good.code, EXIT.ok, good.err)
      assert.match(
        good.out,
        /^Good: .*\naccount +acc_\w{26} \(the account of this device\)\n[^]*^context +a letter$/m,
      )
      assert.equal((await json('stamp', 'verify', file, other)).valid, true)
      if (daemon !== undefined) {
        const { pathname } = new URL(printed.verification_url)
        const served = await ask(daemon.accountAddress as string, null, `GET ${pathname}/file`)
        const key = join(dir.path, 'receipt-key.json')
        writeFileSync(key, JSON.stringify(served.body.receipt_key))
        const { received_at } = await json('stamp', 'verify', file, other, '--receipt-key', key)
        assert.match(received_at, /^\d{4}-/)
      }
      writeFileSync(file, 'Dear Bob')
      const bad = await cli(['stamp', 'verify', file, `${file}.stamp`])
      assert.deepEqual([bad.code, bad.err], [EXIT.notVerified, ''])
      assert.match(bad.out, /^Not good \(digest_mismatch\)/)
      const badJson = await cli(['stamp', 'verify', file, other, '--json'])
      assert.deepEqual(JSON.parse(badJson.out), {
        valid: false,
        conclusive: true,
        reason: 'digest_mismatch',
      })
    })

    it('a read token in the environment cannot write', async () => {
      const read = (await cli(['token', 'create', '--name', 'r', '--scope', 'read'])).out.trim()
      const file = join(dir.path, 'token')
      writeFileSync(file, `${read}\n`, { mode: 0o600 })
      for (const env of [{ SVC_TOKEN: read }, { SVC_TOKEN_FILE: file }]) {
        const list = await cli(['guest', 'list'], { env })
        assert.equal(list.code, EXIT.ok, list.err)
        const create = await cli(['guest', 'create', '--label', 'x'], { env })
        assert.deepEqual([create.code, create.out], [EXIT.failed, ''])
        assert.match(
          create.err,
          /^countersignd: The token in SVC_TOKEN .* needs the scope write or full/,
        )
      }
      const wrong = await cli(['status'], { env: { SVC_TOKEN: 'csd_none' } })
      assert.deepEqual([wrong.code, wrong.out], [EXIT.failed, ''])
      assert.match(wrong.err, /wrong, expired or revoked/)
      chmodSync(file, 0o644)
      const open = await cli(['status'], { env: { SVC_TOKEN_FILE: file } })
      assert.deepEqual([open.code, open.out], [EXIT.stateUnsafe, ''])
      const none = await cli(['status'], { env: { SVC_TOKEN_FILE: join(dir.path, 'none') } })
      assert.deepEqual([none.code, none.out], [EXIT.configuration, ''])
    })

    it('a name with terminal controls is rejected, with the remedy', async () => {
      const { code, err } = await cli(['guest', 'create', '--label', '\u001b[2J'])
      assert.equal(code, EXIT.failed)
      assert.match(err, /change the text direction are not allowed/)
    })

    it(
      'a revoked token is rejected at the next request',
      { skip: mode === 'no daemon runs' },
      async () => {
        const { address } = daemon as { address: string }
        const made = await json('token', 'create', '--name', 'short', '--scope', 'read')
        const status = async () => (await ask(address, made.token, 'GET /api/v1/status')).status
        assert.equal(await status(), 200)
        assert.equal((await cli(['token', 'revoke', made.id])).code, EXIT.ok)
        assert.equal(await status(), 401)
      },
    )

    it(
      'the log at level debug contains no secret',
      { skip: mode === 'no daemon runs' },
      async () => {
        const { address, log } = daemon as { address: string; log: () => string }
        const { token } = await json('token', 'create', '--name', 'canary', '--scope', 'full')
        const { url, id: guest } = await json('guest', 'create', '--label', 'canary')
        const { words } = await json('code', guest)
        await ask(address, token, `POST /api/v1/verify`, { words })
        await ask(address, token, `GET /api/v1/connections?${token}=${words.replaceAll(' ', '+')}`)
        await ask(address, `${token}x`, `GET /api/v1/status`)
        await ask(address, token, 'GET /api/v1/guest-codes/x/qr')
        const text = log()
        assert.match(text, /"event":"request"/)
        assert.match(text, /"event":"request refused"/)
        const secret = JSON.parse(readFileSync(join(dir.path, 'runtime.json'), 'utf8')) as Json
        const k = linkOf(url).k
        for (const canary of [
          token,
          'csd_',
          // Not word by word: the log may use one of the words in an ordinary text.
          words,
          words.replaceAll(' ', '+'),
          k.toString('base64url'),
          k.toString('hex'),
          secret.nonce,
          readFileSync(join(dir.path, 'secret'), 'utf8').trim(),
        ])
          assert(!text.includes(canary), canary)
      },
    )

    it('only the owner can read the files', () => {
      for (const name of ['state.db', 'account.db', 'secret', 'keychain.key', 'keychain.json'])
        assert.equal(statSync(join(dir.path, name)).mode & 0o077, 0, name)
    })
  })

describe('help and usage', () => {
  const dir = folder()
  const cli = terminal(join(dir.path, 'never-made'))
  after(() => dir.remove())

  for (const args of [['--help'], ['-h'], ['help']])
    it(`${args.join(' ')} lists every command, or the group that it is in`, async () => {
      const { code, out, err } = await cli(args)
      assert.deepEqual([code, err], [EXIT.ok, ''])
      for (const name of Object.keys(COMMANDS))
        assert.match(out, new RegExp(`^  ${name.split(' ')[0]}  +\\S`, 'm'))
    })

  for (const group of ['token', 'guest', 'connection', 'device', 'machine', 'org', 'org group'])
    it(`${group} --help lists its commands`, async () => {
      for (const flag of ['--help', '-h']) {
        const { code, out, err } = await cli([...group.split(' '), flag])
        assert.deepEqual([code, err], [EXIT.ok, ''])
        const lines = out.split('\n').filter((line) => line.startsWith('  '))
        const names = Object.keys(COMMANDS).filter((name) => name.startsWith(`${group} `))
        assert.match(out, new RegExp(`^Usage: countersignd ${group} <command>`))
        assert.equal(lines.length, names.length)
        for (const name of names) assert.match(out, new RegExp(`^  ${name}  +\\S`, 'm'))
      }
    })

  it('stamp --help names the other command of its group', async () => {
    const { out } = await cli(['stamp', '--help'])
    assert.match(out, /^Usage: countersignd stamp FILE [^]*^ {2}stamp verify {2}Check/m)
  })

  for (const name of Object.keys(COMMANDS))
    it(`${name} --help prints its usage`, async () => {
      for (const flag of ['--help', '-h']) {
        const { code, out, err } = await cli([...name.split(' '), flag])
        assert.deepEqual([code, err], [EXIT.ok, ''])
        assert.match(out, new RegExp(`^Usage: countersignd ${name}[^]*\\n\\n\\S`))
      }
    })

  for (const flag of ['--version', '-v'])
    it(flag, async () => {
      assert.deepEqual(await cli([flag]), { code: EXIT.ok, out: `${VERSION}\n`, err: '' })
    })

  const missing = join(dir.path, 'missing')
  const written = (name: string, value: unknown): string => {
    const path = join(dir.path, name)
    writeFileSync(path, JSON.stringify(value))
    return path
  }
  const x = Buffer.from(ed25519.Point.BASE.toBytes()).toString('base64url')
  const stampFile = { stamp: 'x', key_log: ['x'] }
  const wrongStamps = {
    'an array': ['x'],
    null: null,
    'a number for the stamp': { ...stampFile, stamp: 1 },
    'a text for the key log': { ...stampFile, key_log: 'x' },
    'a number in the key log': { ...stampFile, key_log: [1] },
    'a number for the receipt': { ...stampFile, receipt: 1 },
  }
  const wrongKeys = {
    'a stamp file': stampFile,
    'a key for another curve': { kty: 'OKP', crv: 'X25519', x },
    'a private key': { kty: 'OKP', crv: 'Ed25519', x, d: x },
    'a key cut short': { kty: 'OKP', crv: 'Ed25519', x: x.slice(4) },
    'a number for the key': { kty: 'OKP', crv: 'Ed25519', x: 1 },
  }
  const mistakes: [args: string[], says: RegExp][] = [
    [['frobnicate'], /There is no command "frobnicate"/],
    [['a\u001b[2J'], /There is no command "a\ufffd\[2J"/],
    [['stauts'], /There is no command "stauts"\. Did you mean "status"\? "countersignd --help"/],
    [['conection', 'list'], /"conection"\. Did you mean "connection list"\? /],
    [['conection', 'frobnicate'], /"conection"\. Did you mean "connection"\? /],
    [['toString'], /There is no command "toString"\. "/],
    [['constructor'], /There is no command "constructor"/],
    [[''], /There is no command ""/],
    [['--token', 'csd_x'], /There is no command "--token": write options after the command/],
    [
      ['status', '--frob=csd_x'],
      /^countersignd: "status" has no option --frob\. "countersignd status --help"/,
    ],
    [['guest', 'create', '--label'], /--label needs a value\..*"countersignd guest create --help"/],
    [['token'], /"token" must be followed by one of: list, create, revoke/],
    [['guest', 'frobnicate'], /"guest" must be followed by one of: list, create, qr, revoke/],
    [['status', 'now'], /Usage: countersignd status/],
    [['status', '--token', 'csd_x'], /--token/],
    [['status', '--json=yes'], /--json/],
    [['token', 'create', '--name', 'x'], /Missing: --scope\. Example: countersignd token create/],
    [
      ['token', 'create', '--scope', 'admin', '--name', 'x'],
      /--scope: "admin" is not read, write or full\./,
    ],
    [['token', 'create', '--scope', 'read'], /Missing: --name\. /],
    [['token', 'create', '--scope', 'read', '--name'], /--name/],
    ...['soon', '1.5h', '-1d', '3y', ''].map((text): [string[], RegExp] => [
      ['token', 'create', '--scope', 'read', '--name', 'x', `--expires-in=${text}`],
      /--expires-in must be a duration such as/,
    ]),
    [['token', 'revoke'], /Usage: countersignd token revoke TOKEN/],
    [['login'], /Missing: --email or --machine/],
    [['login', '--email', 'a@b.example', '--machine'], /--machine signs in with a key/],
    [
      ['login', '--email', 'a@b.example', '--key-file', 'x'],
      /--key-file can only be used with --machine/,
    ],
    [['login', '--machine'], /Give --key-file with the key file of the machine account/],
    [['login', 'a@b.example'], /Usage: countersignd login --email ADDRESS/],
    [['login', '--email', 'a@b.example', '--code', 'x'], /--code/],
    [['reset', '--yes'], /Missing: --email/],
    [['device'], /"device" must be followed by one of: list, approve, renew, revoke/],
    [['device', 'approve', 'a', 'b'], /Usage: countersignd device approve \[DEVICE\]/],
    [['device', 'revoke'], /Usage: countersignd device revoke DEVICE/],
    [
      ['org', 'group'],
      /"org group" must be followed by one of: list, create, update, delete, add, remove\./,
    ],
    [
      ['org', 'alert', 'frobnicate'],
      /"org alert" must be followed by one of: list, create, update, delete\./,
    ],
    [['org', 'frobnicate'], /"org" must be followed by one of: list, create, use, /],
    [['org', 'create'], /Usage: countersignd org create NAME/],
    [
      ['machine', 'create'],
      /Missing: --org, --name and --key-file\. Example: countersignd machine /,
    ],
    [['machine', 'create', '--org', 'x', '--name', 'y'], /Missing: --key-file\. /],
    [['machine', 'token'], /Missing: --key-file\. /],
    [
      ['machine', 'token', '--key-file', 'x', '--scope', 'admin'],
      /--scope: "admin" is not read, write/,
    ],
    [['guest', 'create'], /--label/],
    [['connection', 'create'], /--name/],
    [['code', 'a', 'b'], /Usage: countersignd code \[NAME\]/],
    [['call'], /"countersignd call" asks questions, so it needs a terminal/],
    [['call', 'a', 'b'], /Usage: countersignd call \[NAME\]/],
    [['verify', ...Array<string>(13).fill('a')], /Usage: countersignd verify/],
    [['stamp'], /Usage: countersignd stamp FILE/],
    [['stamp', missing], /There is no file ".*missing"/],
    [['stamp', dir.path], /is a folder/],
    [['stamp', 'verify', missing], /Usage: countersignd stamp verify FILE STAMP/],
    [['stamp', 'verify', missing, missing], /There is no file ".*missing"/],
    [['stamp', 'verify', import.meta.filename, import.meta.filename], /is not a stamp/],
    [['stamp', 'verify', import.meta.filename, join(ROOT, 'package.json')], /is not a stamp/],
    ...Object.entries(wrongStamps).map(([what, value]): [string[], RegExp] => [
      ['stamp', 'verify', import.meta.filename, written(`${what} as stamp`, value)],
      /is not a stamp/,
    ]),
    ...Object.entries(wrongKeys).map(([what, value]): [string[], RegExp] => [
      [
        'stamp',
        'verify',
        import.meta.filename,
        written('good enough as stamp', stampFile),
        `--receipt-key=${written(`${what} as key`, value)}`,
      ],
      /is not an Ed25519 public key as a JWK of kty, crv and x: /,
    ]),
    [
      ['stamp', 'verify', missing],
      /Usage: countersignd stamp verify FILE STAMP \[--root ROOT\] \[--receipt-key JWK_FILE\]/,
    ],
  ]
  for (const [args, says] of mistakes)
    it(`${args.join(' ').replaceAll(dir.path, '…').replace(ROOT, '').slice(0, 120)} is wrong usage: exit code 2`, async () => {
      const { code, out, err } = await cli(args)
      assert.deepEqual([code, out], [EXIT.usage, ''], err)
      assert.match(err, /^countersignd: .*\n$/)
      assert.match(err, says)
    })

  it('without arguments: prints the overview, exit code 2', async () => {
    const { code, out } = await cli([])
    assert.equal(code, EXIT.usage)
    assert.match(out, /^countersignd /)
  })

  it('none of these commands created a state folder', () => {
    assert(!existsSync(join(dir.path, 'never-made')))
  })
})

describe('in a shell', () => {
  it('TOKEN=$(…) gets the token alone, and words can come from a pipe', async () => {
    const dir = folder()
    const script = `
      cli() { "$0" '${PROGRAM}' "$@"; }
      TOKEN=$(cli token create --name x --scope full 2>/dev/null)
      printf '%s\\n' "$TOKEN"
      echo '${WRONG}' | SVC_TOKEN=$TOKEN cli verify --json`
    const { code, stdout } = await exec('/bin/sh', ['-c', script, process.execPath], {
      env: environment(dir.path),
    })
    dir.remove()
    assert.equal(code, EXIT.inconclusive)
    const [token, ...rest] = stdout.split('\n')
    assert.match(`${token}\n`, TOKEN)
    assert.deepEqual((JSON.parse(rest.join('\n')) as Json).reasons, ['nothing_cached'])
  })
})
