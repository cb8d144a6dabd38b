/**
 * The command line finds the daemon of the whole machine for root, for listed users and for
 * others; with real uids and real processes.
 */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/errors.ts'
import { ANN, GUS, type Started, skip } from '../../attack/other-user-machine.ts'
import { SERVICE, type Site, type SystemMachine, openSystemMachine } from './system-machine.ts'

const CREATE = ['token', 'create', '--name', 'ci', '--scope', 'read']
const TOKEN = /^csd_[0-9A-Za-z]{36}\n$/

describe('the service of the whole machine', { skip }, () => {
  let machine: SystemMachine
  let site: Site
  let service: Started
  /** A token that root created, of scope read. */
  let token = ''

  before(async () => {
    machine = await openSystemMachine()
    site = machine.site()
    service = await site.start({ SVC_TOKEN_USERS: String(ANN) })
    token = (await site.call(0, CREATE)).stdout.trim()
  })
  after(() => machine.close())

  it('publishes its address, and no secret', () => {
    const path = join(site.system.runtime, 'countersignd.json')
    const { address, pid, ...more } = JSON.parse(readFileSync(path, 'utf8')) as Record<
      string,
      unknown
    >
    assert.equal(address, service.address)
    assert(Number.isSafeInteger(pid))
    assert.deepEqual(Object.keys(more).toSorted(), ['socket', 'stateVersion', 'version'])
    assert.equal(statSync(path).mode & 0o777, 0o644)
    assert.deepEqual(readdirSync(site.system.runtime), ['countersignd.json'])
  })

  it('lets root do everything, and root leaves nothing of its own in the state folder', async () => {
    assert.match(`${token}\n`, TOKEN)
    for (const args of [
      ['status'],
      ['whoami'],
      ['token', 'list'],
      ['connection', 'list'],
      ['audit', 'verify'],
    ]) {
      const { code, stderr } = await site.call(0, args)
      assert.deepEqual([code, stderr], [EXIT.ok, ''], args.join(' '))
    }
    const names = readdirSync(site.state, { recursive: true, encoding: 'utf8' })
    for (const name of names) assert.equal(lstatSync(join(site.state, name)).uid, SERVICE, name)
    assert(!existsSync(join(site.home(0), '.local')), 'no state of root’s own either')
  })

  it('gives a listed user a token, with which everything else works', async () => {
    const made = await site.call(ANN, [...CREATE, '--label', 'box', '--expires-in', '1d'])
    assert.equal(made.code, EXIT.ok, made.stderr)
    assert.match(made.stdout, TOKEN)
    const listed = await site.call(0, ['token', 'list', '--json'])
    const [newest] = (JSON.parse(listed.stdout) as { items: Record<string, unknown>[] }).items
    assert.deepEqual([newest?.['label'], newest?.['scope']], ['box', 'read'])
    const SVC_TOKEN = made.stdout.trim()
    for (const args of [['status'], ['connection', 'list', '--json']]) {
      const { code, stderr } = await site.call(ANN, args, { SVC_TOKEN })
      assert.deepEqual([code, stderr], [EXIT.ok, ''], args.join(' '))
    }
    assert(!existsSync(join(site.home(ANN), '.local')), 'nothing was made in the home folder')
  })

  it('gives a listed user the link of a console, and makes no folder for it', async () => {
    const { code, stdout, stderr } = await site.call(ANN, ['open', '--print'])
    assert.deepEqual([code, stderr], [EXIT.ok, ''])
    assert.match(stdout.replace(service.address, ''), /^\/console\/open\/\w{32}#k=[\w-]{43}\n$/)
    const opened = await site.call(ANN, ['open'])
    assert.deepEqual([opened.code, opened.stdout], [EXIT.failed, ''])
    assert.match(opened.stderr, /XDG_RUNTIME_DIR.*countersignd open --print/)
    assert(!existsSync(join(site.home(ANN), '.local')), 'nothing was made in the home folder')
  })

  it('accepts a token from a file of any user', async () => {
    const path = join(site.home(GUS), 'token')
    writeFileSync(path, token, { mode: 0o600 })
    chownSync(path, GUS, GUS)
    const { code, stderr } = await site.call(GUS, ['status'], { SVC_TOKEN_FILE: path })
    assert.deepEqual([code, stderr], [EXIT.ok, ''])
  })

  it('speaks the Model Context Protocol to a user with a token', async () => {
    const id = { jsonrpc: '2.0', id: 1 }
    const hello = {
      ...id,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        clientInfo: { name: 'a', version: '0' },
        capabilities: {},
      },
    }
    const call = {
      ...id,
      id: 2,
      method: 'tools/call',
      params: { name: 'status_read', arguments: {} },
    }
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' }
    const input = [hello, notification, call].map((it) => `${JSON.stringify(it)}\n`).join('')
    const answerTo = async (env: Record<string, string>) => {
      const { stdout } = await site.call(ANN, ['mcp', '--scope', 'read'], env, input)
      return stdout.trim().split('\n').at(-1) ?? ''
    }
    assert.match(await answerTo({ SVC_TOKEN: token }), /"keychain":"file".*"id":2/)
    assert.match(await answerTo({}), /SVC_TOKEN_FILE.*"isError":true/)
  })

  const refusals: [
    what: string,
    uid: number,
    args: string[],
    env: Record<string, string>,
    says: RegExp,
  ][] = [
    ['a user who is not listed requests a token', GUS, CREATE, {}, /SVC_TOKEN_USERS.*sudo/],
    ['a user who is not listed opens a console', GUS, ['open', '--print'], {}, /SVC_TOKEN_USERS/],
    ['a user without a token requests anything else', ANN, ['status'], {}, /SVC_TOKEN_FILE/],
    ['a user without a token signs in', ANN, ['login', '--email', 'a@b.c'], {}, /Only root.*sudo/],
    [
      'a user with a token signs out',
      ANN,
      ['logout', '--last-device'],
      { SVC_TOKEN: 'csd_x' },
      /Only root.*sudo/,
    ],
    ['a token is wrong', ANN, ['status'], { SVC_TOKEN: 'csd_wrong' }, /token/],
  ]
  for (const [what, uid, args, env, says] of refusals)
    it(`${what}: rejected with a remedy`, async () => {
      const { code, stdout, stderr } = await site.call(uid, args, env)
      assert.deepEqual([code, stdout], [EXIT.failed, ''], stderr)
      assert.match(stderr, says)
      assert(!existsSync(join(site.home(uid), '.local')))
    })

  for (const [who, uid, proven] of [
    ['root', 0, /it proved itself/],
    ['a user', GUS, /the kernel confirms its user/],
  ] as const)
    it(`doctor reports to ${who} which instance it checked`, async () => {
      const { code, stdout, stderr } = await site.call(uid, ['doctor'])
      assert.equal(code, EXIT.ok, stdout + stderr)
      assert.match(stdout, /ok +daemon +the service of this machine: process \d+ of user 61234 at /)
      assert.match(stdout, proven)
      assert.doesNotMatch(stdout, /state folder/)
    })

  it('is not used by a user with an account of their own', async () => {
    const own = join(site.home(GUS), '.local/state/countersign')
    await machine.run(GUS, 'mkdir', ['-p', '-m', '700', own])
    const env = { SVC_KEYCHAIN: 'file' }
    const { code, stderr } = await site.call(GUS, ['status'], env)
    assert.equal(code, EXIT.noDaemon, stderr)
    assert(existsSync(join(own, 'state.db')))
    rmSync(join(site.home(GUS), '.local'), { recursive: true })
  })

  it('is what root manages, also after earlier commands of root for itself', async () => {
    const own = join(site.home(0), '.local')
    mkdirSync(join(own, 'state/countersign'), { recursive: true, mode: 0o700 })
    const [root, service] = [await site.call(0, ['whoami']), await site.call(0, ['token', 'list'])]
    assert.deepEqual([root.code, service.code], [EXIT.ok, EXIT.ok], root.stderr)
    assert.deepEqual(readdirSync(join(own, 'state/countersign')), [])
    rmSync(own, { recursive: true })
  })

  it('keeps its audit log from others', async () => {
    const { code, stderr } = await site.call(ANN, ['audit', 'verify'])
    assert.equal(code, EXIT.failed)
    assert.match(stderr, /Run the command again with sudo/)
  })

  it('is not used if the environment names a state folder', async () => {
    const SVC_STATE_DIR = join(site.home(ANN), 'named')
    const { code, stderr } = await site.call(ANN, ['status'], {
      SVC_STATE_DIR,
      SVC_KEYCHAIN: 'file',
    })
    assert.equal(code, EXIT.noDaemon, stderr)
    assert(existsSync(join(SVC_STATE_DIR, 'state.db')))
  })
})

describe('a service of the whole machine', { skip }, () => {
  let machine: SystemMachine
  before(async () => {
    machine = await openSystemMachine()
  })
  after(() => machine.close())

  it('that ends is no longer published, and its state is not opened', async () => {
    const site = machine.site()
    const service = await site.start()
    await service.end()
    assert.deepEqual(readdirSync(site.system.runtime), [])
    const stopped = [
      () => undefined,
      // As systemd does when a service stops.
      () => rmSync(site.system.runtime, { recursive: true }),
    ]
    for (const step of stopped) {
      step()
      for (const uid of [0, ANN])
        for (const args of [['status'], CREATE, ['doctor']]) {
          const { code, stdout, stderr } = await site.call(uid, args)
          const doctor = args[0] === 'doctor'
          assert.equal(code, doctor ? EXIT.failed : EXIT.daemonSilent, stderr)
          assert.match(doctor ? stdout : stderr, /sudo systemctl start countersignd/)
          assert(!existsSync(join(site.home(uid), '.local')))
        }
    }
    const names = readdirSync(site.state, { recursive: true, encoding: 'utf8' })
    for (const name of names) assert.equal(lstatSync(join(site.state, name)).uid, SERVICE, name)
  })

  it('that is not installed is not awaited: users have accounts of their own', async () => {
    const site = machine.site()
    rmSync(site.system.runtime, { recursive: true })
    for (const unit of site.system.units) rmSync(unit)
    const { code, stderr } = await site.call(ANN, ['status'], { SVC_KEYCHAIN: 'file' })
    assert.equal(code, EXIT.noDaemon, stderr)
    assert(existsSync(join(site.home(ANN), '.local/state/countersign/state.db')))
  })

  it('runs also if it cannot publish its address', async () => {
    const site = machine.site()
    chownSync(site.system.runtime, 0, 0)
    const service = await site.start()
    assert.match(service.log(), /"level":"warn".*cannot find the daemon/)
    await service.end()
  })

  it('without a dynamic user has its state folder in place', async () => {
    const site = machine.site()
    rmSync(site.system.state)
    mkdirSync(site.system.state)
    chownSync(site.system.state, SERVICE, SERVICE)
    chmodSync(site.system.state, 0o700)
    const service = await site.start({ STATE_DIRECTORY: site.system.state })
    assert.match((await site.call(0, CREATE)).stdout, TOKEN)
    await service.end()
  })
})
