/**
 * Other users who pose as the service of the whole machine: the command line sends them nothing
 * of value.
 */
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
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/errors.ts'
import { ANN, GUS as EVE, skip } from '../../attack/other-user-machine.ts'
import { SQUAT } from '../../attack/other-user-scripts.ts'
import { ask } from '../../daemon.ts'
import { SERVICE, type Site, type SystemMachine, openSystemMachine } from './system-machine.ts'

/** Prints its port, then prints all bytes and forwards them to another port under its Host. */
const RELAY = `
const net = require('node:net')
const [, port] = process.argv
const server = net.createServer((socket) => {
  const on = net.connect(Number(port), '127.0.0.1')
  for (const end of [socket, on]) end.on('error', () => undefined)
  socket.on('data', (bytes) => {
    process.stdout.write(bytes)
    on.write(bytes.toString('latin1').replace(':' + server.address().port, ':' + port))
  })
  on.pipe(socket)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))`

const CANARY = 'csd_canary'
const CREATE = ['token', 'create', '--name', 'x', '--scope', 'full']
const CALLS = [CREATE, ['guest', 'create', '--label', 'x']]

const own = (path: string, uid: number, mode: number) => {
  chownSync(path, uid, uid)
  chmodSync(path, mode)
}

/** Writes the file that a service would have published. */
function publish({ system }: Site, address: string, uid = SERVICE): string {
  const path = join(system.runtime, 'countersignd.json')
  writeFileSync(path, JSON.stringify({ address, version: '0.0.0', pid: 1 }))
  own(path, uid, 0o644)
  return path
}

/** Replaces the service’s folder by another one. */
function instead({ system }: Site, uid: number, mode: number): void {
  rmSync(system.runtime, { recursive: true })
  mkdirSync(system.runtime)
  own(system.runtime, uid, mode)
}

/** Plants files for an address of the attacker. */
type Plant = (site: Site, address: string) => void

const unsafe: [what: string, plant: Plant][] = [
  [
    'a world-writable folder',
    (site, address) => {
      publish(site, address)
      chmodSync(site.system.runtime, 0o777)
    },
  ],
  [
    'a group-writable folder',
    (site, address) => {
      publish(site, address)
      chmodSync(site.system.runtime, 0o775)
    },
  ],
  [
    'a folder of the attacker, in a world-writable one',
    (site, address) => {
      chmodSync(dirname(site.system.runtime), 0o777)
      instead(site, EVE, 0o755)
      publish(site, address, EVE)
    },
  ],
  [
    'a folder of the attacker, in a world-writable one with the sticky bit',
    (site, address) => {
      chmodSync(dirname(site.system.runtime), 0o1777)
      instead(site, EVE, 0o755)
      publish(site, address, EVE)
    },
  ],
  [
    'a folder of the attacker, in one of the attacker',
    (site, address) => {
      chownSync(dirname(site.system.runtime), EVE, EVE)
      instead(site, EVE, 0o755)
      publish(site, address, EVE)
    },
  ],
  [
    'a folder of uid 65534, which may be any user in a user namespace',
    (site, address) => {
      instead(site, 65_534, 0o755)
      publish(site, address, 65_534)
    },
  ],
  [
    'a link to a folder of the attacker',
    (site, address) => {
      publish(site, address)
      const elsewhere = join(site.home(EVE), 'run')
      mkdirSync(elsewhere)
      writeFileSync(join(elsewhere, 'countersignd.json'), JSON.stringify({ address }))
      own(elsewhere, EVE, 0o755)
      renameSync(site.system.runtime, `${site.system.runtime}.away`)
      symlinkSync(elsewhere, site.system.runtime)
    },
  ],
  [
    'a file in place of the folder',
    (site) => {
      rmSync(site.system.runtime, { recursive: true })
      writeFileSync(site.system.runtime, '')
    },
  ],
  [
    'a file of the attacker in the service’s folder',
    (site, address) => void publish(site, address, EVE),
  ],
  ['a world-writable file', (site, address) => chmodSync(publish(site, address), 0o666)],
  [
    'a link to a file of the attacker',
    (site, address) => {
      const path = publish(site, address)
      rmSync(path)
      const elsewhere = join(site.home(EVE), 'theirs.json')
      writeFileSync(elsewhere, JSON.stringify({ address, version: '0.0.0', pid: 1 }))
      symlinkSync(elsewhere, path)
    },
  ],
  [
    'an endless file',
    (site, address) => {
      const path = publish(site, address)
      writeFileSync(path, `${JSON.stringify({ address, version: '0', pid: 1 })}${' '.repeat(9000)}`)
    },
  ],
]

const portOf = (address: string) => new URL(address).port

/** Addresses that a daemon does not write. */
const elsewhere: [what: string, address: (squatted: string) => string][] = [
  ['of another machine', () => 'http://192.0.2.1:19821'],
  ['of any machine', (squatted) => `http://0.0.0.0:${portOf(squatted)}`],
  ['by a name', (squatted) => `http://localhost:${portOf(squatted)}`],
  ['with a user before it', (squatted) => `http://127.0.0.1:1@127.0.0.1:${portOf(squatted)}`],
  ['with a path', (squatted) => `${squatted}/x`],
  ['over https', (squatted) => squatted.replace('http:', 'https:')],
  ['that is invalid', () => 'http://127.0.0.256:1'],
]

describe('in place of the service of the whole machine', { skip }, () => {
  let machine: SystemMachine
  before(async () => {
    machine = await openSystemMachine()
  })
  after(() => machine.close())

  /**
   * Runs commands as a user and asserts that each is rejected, prints nothing and creates no
   * state.
   */
  async function refused(site: Site, uid: number, exit: number, calls = [CREATE]) {
    for (const args of calls) {
      const { code, stdout, stderr } = await site.call(uid, args, { SVC_TOKEN: CANARY })
      assert.deepEqual([code, stdout], [exit, ''], `${uid} ${args.join(' ')}: ${stderr}`)
      assert.doesNotMatch(stderr, /canary/)
    }
    assert.deepEqual(readdirSync(site.home(uid)), [])
  }

  /**
   * Returns all bytes that a squatter received before the one request that shows that it listens.
   */
  async function receivedBy(
    port: string,
    received: (end: string) => Promise<string>,
  ): Promise<string> {
    const end = 'the end'
    await ask(`http://127.0.0.1:${port}`, 'POST', '/last', {
      body: end,
      headers: { 'X-Last': '1' },
    })
    const [output = ''] = (await received(end)).split('POST /last')
    return output
  }

  for (const [what, plant] of unsafe)
    it(`${what}: rejected, without a connection`, async () => {
      const site = machine.site()
      const { line: port, received } = await machine.squat(EVE, SQUAT, ['0'])
      plant(site, `http://127.0.0.1:${port}`)
      await refused(site, ANN, EXIT.stateUnsafe)
      assert.equal(await receivedBy(port, received), '')
    })

  it('an address that no daemon writes: no connection', async () => {
    const { line: port, received } = await machine.squat(EVE, SQUAT, ['0'])
    for (const [, address] of elsewhere) {
      const site = machine.site()
      publish(site, address(`http://127.0.0.1:${port}`))
      await refused(site, ANN, EXIT.daemonSilent)
    }
    assert.equal(await receivedBy(port, received), '')
  })

  it('another user on the port of a killed service receives only the greeting', async () => {
    const site = machine.site()
    const service = await site.start()
    await service.end('SIGKILL')
    const { line: port, received } = await machine.squat(EVE, SQUAT, [portOf(service.address)])
    for (const uid of [ANN, 0]) await refused(site, uid, EXIT.daemonSilent, CALLS)
    assert.doesNotMatch(await receivedBy(port, received), /authorization|csd_|guest|\/api\//i)
  })

  it('another user who relays to the service receives only the greeting', async () => {
    const site = machine.site()
    const service = await site.start({ SVC_TOKEN_USERS: String(EVE) })
    const { line: port, received } = await machine.squat(EVE, RELAY, [portOf(service.address)])
    publish(site, `http://127.0.0.1:${port}`)
    await refused(site, ANN, EXIT.daemonSilent, CALLS)
    // Root connects to the address that only the service could write, and not to this one.
    const { code, stderr } = await site.call(0, ['status'])
    assert.equal(code, EXIT.ok, stderr)
    const output = await receivedBy(port, received)
    assert.match(output, /^(GET \/health HTTP\/1\.1\r\n.*?\r\n\r\n)+$/s)
    assert.doesNotMatch(output, /authorization|csd_|guest|\/api\//i)
    await service.end()
  })

  const states: [what: string, plant: (site: Site) => void][] = [
    [
      'leads elsewhere',
      (site) => {
        rmSync(site.system.state)
        symlinkSync(site.home(EVE), site.system.state)
      },
    ],
    ['belongs to another user', ({ state }) => chownSync(state, EVE, EVE)],
    ['is open to others', ({ state }) => chmodSync(state, 0o750)],
    ['is not there', ({ system }) => rmSync(system.state)],
    ['is in a world-writable folder', ({ state }) => chmodSync(dirname(state), 0o777)],
    ['holds a secret of another user', ({ state }) => chownSync(join(state, 'secret'), EVE, EVE)],
    [
      'contains a link in place of a secret',
      (site) => {
        const secret = join(site.state, 'secret')
        rmSync(secret)
        symlinkSync(join(site.home(EVE), 'secret'), secret)
      },
    ],
  ]
  for (const [what, plant] of states)
    it(`root rejects a state folder that ${what}`, async () => {
      const site = machine.site()
      const service = await site.start()
      plant(site)
      await refused(site, 0, EXIT.stateUnsafe)
      await service.end()
    })

  it('root does not connect to an address elsewhere that the service wrote', async () => {
    const site = machine.site()
    const service = await site.start()
    const runtime = {
      pid: 1,
      address: 'http://192.0.2.1:80',
      nonce: 'n',
      version: '0',
      stateVersion: null,
    }
    const path = join(site.state, 'runtime.json')
    writeFileSync(path, JSON.stringify(runtime))
    await refused(site, 0, EXIT.daemonSilent)
    await service.end()
  })

  it('a caller with the service’s uid is asked to name its state folder', async () => {
    const site = machine.site()
    publish(site, 'http://127.0.0.1:9')
    const { code, stderr } = await site.call(SERVICE, ['status'])
    assert.equal(code, EXIT.stateUnsafe)
    assert.match(stderr, /belongs to you\. Set SVC_STATE_DIR/)
  })
})
