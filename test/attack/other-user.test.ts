/**
 * Another user of the machine, under a real second uid, against the daemon of an ordinary user:
 * the token route, every file, the lock, planted names, and the port.
 */
import assert from 'node:assert/strict'
import { chmodSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { ask } from '../daemon.ts'
import { sized } from '../soak/size.ts'
import {
  ANN,
  EVE,
  GUS,
  type Machine,
  type Started,
  openMachine,
  skip,
} from './other-user-machine.ts'
import { CONNECT, FLOOD, PRY, SQUAT } from './other-user-scripts.ts'

/** The number of connections that a user opens at once. */
const SOCKETS = sized(12, 100)
const NEW = '{"name":"n","scope":"full"}'
/** Returns the first of some similar cases: two of them, or all in a full run. */
const some = <T>(cases: readonly T[]): readonly T[] => cases.slice(0, sized(2, cases.length))
const JSON_TYPE = 'Content-Type: application/json'

const noIpv6 =
  !Object.values(networkInterfaces())
    .flat()
    .some((it) => it?.address === '::1') && 'this machine has no ::1'

/**
 * Returns the bytes that a squatter received before the last request, which shows that it
 * listens.
 */
async function all(port: string, received: (end: string) => Promise<string>): Promise<string> {
  const last = 'the end'
  await ask(`http://127.0.0.1:${port}`, 'POST', '/', { body: last, headers: { 'X-Last': '1' } })
  const [before_ = ''] = (await received(last)).split('POST / HTTP')
  return before_
}

describe('another user of the machine', { skip }, () => {
  let machine: Machine
  let home = ''
  let state = ''
  let daemon: Started

  /** Returns the answer of the token route to curl, run as a user. */
  const mint = async (uid: number, { address } = daemon): Promise<string> => {
    const args = [
      '-sg',
      '-w',
      ' %{http_code}',
      '-H',
      JSON_TYPE,
      '-d',
      NEW,
      `${address}/api/v1/token`,
    ]
    return (await machine.run(uid, 'curl', args)).stdout
  }
  const ann = (args: readonly string[]) => machine.countersignd(ANN, state, args)
  const tokens = async (): Promise<number> => {
    const { stdout, stderr } = await ann(['token', 'list', '--json'])
    assert.equal(stderr, '')
    return (JSON.parse(stdout) as { items: unknown[] }).items.length
  }
  const flood = async (uid: number, host: string, { address } = daemon, n = SOCKETS) => {
    const { stdout } = await machine.node(uid, FLOOD, [host, new URL(address).port, String(n)])
    return JSON.parse(stdout) as { hurry: string | null; received: string }[]
  }

  before(async () => {
    machine = await openMachine()
    home = machine.home(ANN)
    state = join(home, 'state')
    daemon = await machine.serve(ANN, state)
  })
  after(() => machine.close())

  test('gets no token, and the daemon’s own user and root get one', async () => {
    const had = await tokens()
    for (const answer of await Promise.all([EVE, GUS].map((uid) => mint(uid))))
      assert.match(answer, /"peer_not_allowed".* 403$/)
    assert.equal(await tokens(), had)
    for (const answer of await Promise.all([ANN, 0].map((uid) => mint(uid))))
      assert.match(answer, /csd_.* 201$/)
    assert.equal(await tokens(), had + 2)
  })

  const mintAt = (socket: string) => ['-s', '--unix-socket', socket, '-H', JSON_TYPE, '-d', NEW]
  /** Runs curl as a user who is also in the group of the daemon’s user. */
  const asMember = (args: readonly string[]) => {
    const ids = ['--reuid', String(GUS), '--regid', String(GUS), '--groups', String(ANN)]
    return machine.run(0, 'setpriv', [...ids, 'curl', ...args, 'http://localhost/api/v1/token'])
  }

  test('cannot connect to the Unix socket of the owner, and neither can a member of the group', async () => {
    const folder = machine.home(ANN)
    const socket = join(folder, 'api.sock')
    const env = { SVC_HTTP_SOCKET: socket, SVC_HTTP_PORT: 'off' }
    const own = await machine.serve(ANN, join(folder, 'state'), env)
    for (const uid of [EVE, GUS])
      assert.equal((await machine.node(uid, CONNECT, [socket])).stdout, 'EACCES\n')
    assert.equal((await asMember(mintAt(socket))).code, 7)
    for (const uid of [ANN, 0])
      assert.equal((await machine.node(uid, CONNECT, [socket])).stdout, 'connected\n')
    const status = await machine.countersignd(ANN, join(folder, 'state'), ['status', '--json'], env)
    assert.equal((JSON.parse(status.stdout) as { socket: string }).socket, socket)
    await own.end()
  })

  test('cannot connect to the Unix socket of a group, and its members can create tokens', async () => {
    const folder = machine.home(ANN)
    const socket = join(folder, 'api.sock')
    const env = { SVC_HTTP_SOCKET: socket, SVC_HTTP_SOCKET_GROUP: String(ANN) }
    const own = await machine.serve(ANN, join(folder, 'state'), env)
    for (const uid of [EVE, GUS])
      assert.equal((await machine.node(uid, CONNECT, [socket])).stdout, 'EACCES\n')
    const { stdout } = await asMember(mintAt(socket))
    assert.match(stdout, /"token":"csd_/)
    // A member is no owner: only who can read the state folder is.
    const { token } = JSON.parse(stdout) as { token: string }
    const args = ['-s', '--unix-socket', socket, '-K', '-', 'http://localhost/local/v1/sign-in']
    const refused = await machine.run(
      ANN,
      'curl',
      args,
      `header = "Authorization: Bearer ${token}"`,
    )
    assert.match(refused.stdout, /"error":"forbidden"/)
    await own.end()
  })

  for (const host of ['127.0.0.1', '::ffff:127.0.0.1'])
    test(`gets none from ${host}, however they close the connection, while the owner requests one too`, async (t) => {
      const had = await tokens()
      const [hers, theirs] = await Promise.all([flood(ANN, host), flood(EVE, host)])
      for (const { hurry, received } of theirs) {
        assert(!received.includes('csd_'), received)
        if (hurry === null) assert.match(received, /^HTTP\/1\.1 403 .*"peer_not_allowed"/s)
      }
      const given = hers.filter(({ received }) => received.includes('csd_')).length
      const stayed = hers.filter(({ hurry }) => hurry === null)
      assert(stayed.every(({ received }) => received.startsWith('HTTP/1.1 201 ')))
      // The server may have checked a client before it closed. It then created a token that no
      // client received.
      const made = (await tokens()) - had
      assert(made >= given && made <= hers.length, `${made} tokens, ${given} given`)
      t.diagnostic(`owner: ${given} of ${hers.length} given; other user: 0 of ${theirs.length}`)
    })

  test('gets none when they alone close at once, and none is made', async () => {
    const had = await tokens()
    await flood(EVE, '127.0.0.1', daemon, 2 * SOCKETS)
    assert.equal(await tokens(), had)
  })

  test('gets none over IPv6', { skip: noIpv6 }, async () => {
    const six = await machine.serve(ANN, join(machine.home(ANN), 'state'), { SVC_HTTP_BIND: '::1' })
    assert.match(await mint(EVE, six), /"peer_not_allowed".* 403$/)
    assert.match(await mint(ANN, six), /csd_.* 201$/)
    await six.end()
  })

  for (const [users, eve, gus] of some([
    ['any', 201, 201],
    ['nobody', 201, 403],
    [String(EVE), 201, 403],
  ] as const))
    test(`SVC_TOKEN_USERS=${users}: ${eve} for one user, ${gus} for another`, async () => {
      const open = await machine.serve(ANN, join(machine.home(ANN), 'state'), {
        SVC_TOKEN_USERS: users,
      })
      const who = [
        [ANN, 201],
        [0, 201],
        [EVE, eve],
        [GUS, gus],
      ] as const
      const given = await Promise.all(who.map(([uid]) => mint(uid, open)))
      for (const [i, [uid, status]] of who.entries())
        assert.match(given[i] ?? '', new RegExp(` ${status}$`), String(uid))
      await open.end()
    })

  test('can neither read, list, change nor replace anything in the state folder, keys and exports', async (t) => {
    for (const args of [
      ['org', 'create', 'Example Ltd'],
      [
        'machine',
        'create',
        '--org',
        'Example Ltd',
        '--name',
        'm',
        '--key-file',
        join(home, 'm.jwk'),
      ],
      ['email', 'add', 'ann@example.org'],
      ['export', '--output', join(home, 'all.zip')],
    ]) {
      const { code, stderr } = await ann(args)
      assert.equal(code, EXIT.ok, `${args.join(' ')}: ${stderr}`)
    }
    const inside = readdirSync(state, { recursive: true, encoding: 'utf8' })
    for (const name of [
      'secret',
      'state.db',
      'account.db',
      'keychain.key',
      'runtime.json',
      'lock.db',
      'mail',
      'keychain',
    ])
      assert(inside.includes(name), name)
    const paths = [state, ...inside.map((name) => join(state, name))]
    const outside = [join(home, 'm.jwk'), join(home, 'all.zip')]
    for (const path of [...paths, ...outside]) {
      const { mode, uid } = lstatSync(path)
      const right = statSync(path).isDirectory() ? 0o700 : 0o600
      assert.deepEqual([mode & 0o777, uid], [right, ANN], path)
    }
    const pry = async () => {
      const { stdout, stderr } = await machine.node(EVE, PRY, [
        machine.home(EVE),
        ...paths,
        ...outside,
      ])
      assert.equal(stderr, '')
      return JSON.parse(stdout) as string[]
    }
    assert.deepEqual(await pry(), [])
    // Each file is protected by its own mode, too.
    chmodSync(state, 0o755)
    try {
      assert.deepEqual(
        (await pry()).filter((it) => it !== `list ${state}`),
        [],
      )
    } finally {
      chmodSync(state, 0o700)
    }
    t.diagnostic(
      `${paths.length + outside.length} paths: ${inside.filter((it) => !it.startsWith('keychain/')).join(', ')}`,
    )
  })

  for (const args of some([
    ['serve'],
    ['token', 'create', '--name', 'x', '--scope', 'full'],
    ['status'],
  ]))
    test(`countersignd ${args[0]} with that folder: rejected, and the daemon continues`, async () => {
      const { code, stdout, stderr } = await machine.countersignd(EVE, state, args)
      assert.equal(code, EXIT.stateUnsafe, stderr)
      assert.equal(stdout, '')
      assert.match(stderr, new RegExp(`belongs to user ${ANN}, but this is user ${EVE}`))
      assert.equal((await ann(['status'])).code, EXIT.ok)
    })

  test('cannot take the lock', async () => {
    const script = `
      const { DatabaseSync } = require('node:sqlite')
      try { new DatabaseSync(process.argv[1]).exec('begin exclusive'); console.log('taken') } catch (error) { console.log(error.message) }`
    const { stdout } = await machine.node(EVE, script, [join(state, 'lock.db')])
    assert.match(stdout, /unable to open/)
  })

  test('can use a stolen token, as its bearer', async () => {
    const { stdout } = await ann(['token', 'create', '--name', 'stolen', '--scope', 'read'])
    const args = [
      '-s',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      '-K',
      '-',
      `${daemon.address}/api/v1/status`,
    ]
    const asked = await machine.run(
      EVE,
      'curl',
      args,
      `header = "Authorization: Bearer ${stdout.trim()}"`,
    )
    assert.equal(asked.stdout, '200')
  })

  for (const [what, plant] of some([
    [
      'a link to a folder of theirs',
      `require('node:fs').mkdirSync(at + '.real', 0o777); require('node:fs').symlinkSync(at + '.real', at)`,
    ],
    [
      'a world-writable folder of theirs',
      `require('node:fs').mkdirSync(at); require('node:fs').chmodSync(at, 0o777)`,
    ],
    ['a fifo', `require('node:child_process').execFileSync('mkfifo', ['-m', '666', at])`],
    ['a dangling link', `require('node:fs').symlinkSync(at + '.nowhere', at)`],
  ] as const))
    test(`planted ${what} in place of a state folder: rejected, and nothing is written there`, async () => {
      const tmp = machine.home(0)
      chmodSync(tmp, 0o1777)
      const at = join(tmp, 'countersign')
      const { stderr } = await machine.node(EVE, `const at = process.argv[1]; ${plant}`, [at])
      assert.equal(stderr, '')
      const there = () => readdirSync(tmp, { recursive: true, encoding: 'utf8' }).toSorted()
      const planted = there()
      const tried = [['serve'], ['status']].map((args) => machine.countersignd(ANN, at, args))
      for (const { code, stdout } of await Promise.all(tried))
        assert.deepEqual([code, stdout], [EXIT.stateUnsafe, ''])
      assert.deepEqual(there(), planted)
    })

  for (const kind of some(['a link', 'a fifo', 'a file that all may read'] as const))
    test(`planted ${kind} in place of a machine’s key file: rejected`, async () => {
      const tmp = machine.home(0)
      chmodSync(tmp, 0o1777)
      const at = join(tmp, 'key.jwk')
      const command = {
        'a link': ['ln', '-s', `${at}.real`, at],
        'a fifo': ['mkfifo', '-m', '666', at],
        'a file that all may read': ['install', '-m', '666', '/dev/null', at],
      }[kind] as [string, ...string[]]
      assert.equal((await machine.run(EVE, command[0], command.slice(1))).stderr, '')
      const created = await ann([
        'machine',
        'create',
        '--org',
        'Example Ltd',
        '--name',
        kind,
        '--key-file',
        at,
      ])
      assert.notEqual(created.code, EXIT.ok)
      assert.match(created.stderr, /key\.jwk/)
      assert.deepEqual(readdirSync(tmp), ['key.jwk'])
      if (kind !== 'a link') assert.equal(lstatSync(at).size, 0)
    })

  test('takes the port before the daemon: the daemon does not start, and no command sends them anything', async () => {
    const own = join(machine.home(ANN), 'state')
    const { line: port, received } = await machine.squat(EVE, SQUAT, ['0'])
    const env = { SVC_HTTP_PORT: port }
    const first = await machine.countersignd(ANN, own, ['serve'], env)
    assert.deepEqual([first.code, first.stdout], [EXIT.portTaken, ''], first.stderr)
    const { code } = await machine.countersignd(ANN, own, ['status'], env)
    assert.equal(code, EXIT.noDaemon)
    assert.equal(await all(port, received), '')
  })

  test('takes the port of a killed daemon: the command line sends them nothing', async () => {
    const own = join(machine.home(ANN), 'state')
    const died = await machine.serve(ANN, own)
    const { port } = new URL(died.address)
    await died.end('SIGKILL')
    const { received } = await machine.squat(EVE, SQUAT, [port])
    const env = { SVC_HTTP_PORT: port, SVC_TOKEN: 'csd_canary' }
    for (const args of [['status'], ['guest', 'create', '--label', 'x']])
      await machine.countersignd(ANN, own, args, env)
    assert.equal(await all(port, received), '')
  })
})
