/**
 * The commands of the service over machines in memory: their operations, and what remains after a
 * failure of each.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Command } from '../../../src/cli/command.ts'
import { serviceCommands } from '../../../src/cli/commands/service.ts'
import type { Host } from '../../../src/cli/service/machine.ts'
import type { Purge } from '../../../src/cli/service/uninstall.ts'
import { readConfig } from '../../../src/config/config.ts'
import { type Wish, fakeMachine, refusal } from './fake-machine.ts'

type Verb = 'install' | 'uninstall' | 'status' | 'print' | 'key'

/** Runs a command as `run.ts` does; returns the error that it throws. */
async function call(machine: Host, verb: Verb, options: Record<string, string | boolean> = {}) {
  const result = { out: '', err: '', answer: undefined as unknown }
  const purged: string[] = []
  const purge: Purge = async ({ stateDir }) => void purged.push(stateDir)
  const command: Command = serviceCommands(() => machine, purge)[verb]
  const env = { HOME: machine.home }
  try {
    const code = await command.run({
      options,
      args: [],
      called: (id) => id,
      io: {
        stdout: { write: () => undefined },
        stderr: { write: () => undefined },
        stdin: (async function* () {})(),
        env,
      },
      config: () => readConfig(env),
      json: false,
      withApi: () => assert.fail('the service needs no daemon to be asked'),
      print: (answer, lines) => {
        result.answer = answer
        result.out += [lines].flat().join('\n')
      },
      say: (text) => void (result.err += `${text}\n`),
      started: () => assert.fail('the command starts no server'),
      pause: () => assert.fail('the service waits for nobody'),
    })
    return { ...result, purged, code: code ?? 0, error: null }
  } catch (error) {
    return { ...result, purged, code: -1, error: error as Error & { exit?: number } }
  }
}

const UNIT = '/etc/systemd/system/countersignd.service'
const PLACE = '/usr/local/bin/countersignd'
const KEY = '/etc/countersign/key'
const KEPT = '/usr/local/bin/.countersignd.before'
const DOWNLOAD = '/home/anna/Downloads/countersignd-linux-x64'
const OLD_UNIT = `[Service]\nExecStart=${PLACE} serve\n`

/** An older installation of the system's service. */
const OLDER = { [UNIT]: OLD_UNIT, [PLACE]: 'old program', [KEY]: 'old key' }

const MAC = {
  platform: 'darwin',
  uid: 501,
  home: '/Users/anna',
  self: { isExecutable: true, words: ['/Users/anna/Downloads/c'] },
} as const
const WINDOWS = {
  platform: 'win32',
  uid: null,
  home: 'C:\\Users\\anna',
  env: { LOCALAPPDATA: 'C:\\Users\\anna\\AppData\\Local' },
  self: { isExecutable: true, words: ['C:\\Users\\anna\\Downloads\\c.exe'] },
} as const

const SOCKET_UNIT = '/etc/systemd/system/countersignd.socket'

const PLANS: [
  name: string,
  wish: Wish,
  options: Record<string, boolean | string>,
  deeds: string[],
][] = [
  [
    'Linux, the whole machine, for root',
    {},
    {},
    [
      'systemctl show --property=Version',
      `write ${KEY} 600`,
      `copy ${DOWNLOAD} ${PLACE} 755`,
      `write ${UNIT} 644`,
      'systemctl daemon-reload',
      'systemctl enable countersignd.service',
      'systemctl restart countersignd.service',
    ],
  ],
  [
    'Linux, the whole machine, with a socket',
    {},
    { 'socket-group': 'staff' },
    [
      'systemctl show --property=Version',
      `write ${KEY} 600`,
      `copy ${DOWNLOAD} ${PLACE} 755`,
      `write ${UNIT} 644`,
      `write ${SOCKET_UNIT} 644`,
      'systemctl daemon-reload',
      'systemctl stop countersignd.service',
      'systemctl enable countersignd.socket',
      'systemctl restart countersignd.socket',
      'systemctl daemon-reload',
      'systemctl enable countersignd.service',
      'systemctl restart countersignd.service',
    ],
  ],
  [
    'Linux, over an older one, started from its own place',
    { files: OLDER, self: { isExecutable: true, words: [PLACE] } },
    {},
    [
      'systemctl show --property=Version',
      'systemctl reset-failed countersignd.service',
      `write ${UNIT} 644`,
      'systemctl daemon-reload',
      'systemctl enable countersignd.service',
      'systemctl restart countersignd.service',
    ],
  ],
  [
    'Linux, a user',
    { uid: 1000, home: '/home/anna' },
    {},
    [
      'systemctl --user show --property=Version',
      `copy ${DOWNLOAD} /home/anna/.local/bin/countersignd 755`,
      'write /home/anna/.config/systemd/user/countersignd.service 644',
      'systemctl --user daemon-reload',
      'systemctl --user enable countersignd.service',
      'systemctl --user restart countersignd.service',
    ],
  ],
  [
    'Linux, a user, from Node',
    {
      uid: 1000,
      home: '/home/anna',
      self: { isExecutable: false, words: ['/n/node', '/c/c.cjs'] },
    },
    {},
    [
      'systemctl --user show --property=Version',
      'write /home/anna/.config/systemd/user/countersignd.service 644',
      'systemctl --user daemon-reload',
      'systemctl --user enable countersignd.service',
      'systemctl --user restart countersignd.service',
    ],
  ],
  [
    'macOS, a user',
    MAC,
    {},
    [
      'copy /Users/anna/Downloads/c /Users/anna/.local/bin/countersignd 755',
      'write /Users/anna/Library/LaunchAgents/org.countersign.countersignd.plist 644',
      'launchctl enable gui/501/org.countersign.countersignd',
      'launchctl bootstrap gui/501 /Users/anna/Library/LaunchAgents/org.countersign.countersignd.plist',
      '/Users/anna/.local/bin/countersignd health --wait 60',
    ],
  ],
  [
    'macOS, the whole machine',
    { ...MAC, uid: 0 },
    { system: true },
    [
      'id -u _countersign',
      `copy /Users/anna/Downloads/c ${PLACE} 755`,
      'write /Library/LaunchDaemons/org.countersign.countersignd.plist 644',
      'install -d -m 0700 -o _countersign -g _countersign /Library/Application Support/Countersign',
      'install -d -m 0700 -o _countersign -g _countersign /Library/Logs/Countersign',
      'launchctl enable system/org.countersign.countersignd',
      'launchctl bootstrap system /Library/LaunchDaemons/org.countersign.countersignd.plist',
      `sudo -n -u _countersign env SVC_STATE_DIR=/Library/Application Support/Countersign ${PLACE} health --wait 60`,
    ],
  ],
  [
    'Windows, a user',
    WINDOWS,
    {},
    [
      'copy C:\\Users\\anna\\Downloads\\c.exe C:\\Users\\anna\\AppData\\Local\\Programs\\Countersign\\countersignd.exe 755',
      'write C:\\Users\\anna\\AppData\\Local\\Programs\\Countersign\\countersignd.task.xml 644',
      'C:\\Windows\\System32\\schtasks.exe /Create /TN Countersign /XML C:\\Users\\anna\\AppData\\Local\\Programs\\Countersign\\countersignd.task.xml /F',
      'C:\\Windows\\System32\\schtasks.exe /Run /TN Countersign',
      'C:\\Users\\anna\\AppData\\Local\\Programs\\Countersign\\countersignd.exe health --wait 60',
    ],
  ],
]

describe('service install', () => {
  for (const [name, wish, options, expected] of PLANS)
    it(`makes exactly these changes: ${name}`, async () => {
      const { machine, deeds } = fakeMachine(wish)
      const { error, out } = await call(machine, 'install', options)
      assert.ifError(error)
      assert.deepEqual(deeds, expected)
      assert.equal(out.split('\n').length, 3)
    })

  it('makes a key of 32 bytes that only root reads, and keeps it', async () => {
    const { machine, files, text } = fakeMachine()
    await call(machine, 'install')
    const key = text(KEY)
    assert.match(key, /^[0-9a-f]{64}\n$/)
    assert.equal(files.get(KEY)?.mode, 0o600)
    await call(machine, 'install')
    assert.equal(text(KEY), key)
  })

  it('makes none if the operator provides an encrypted one', async () => {
    const { machine, files } = fakeMachine({ files: { '/etc/countersign/key.cred': 'encrypted' } })
    assert.ifError((await call(machine, 'install')).error)
    assert.equal(files.has(KEY), false)
  })

  it('adopts the key in the state folder', async () => {
    const own = `${'ab'.repeat(32)}\n`
    const { machine, text } = fakeMachine({
      files: {
        '/var/lib/private/countersign/keychain.key': own,
        '/var/lib/private/countersign/keychain/vault.sealed': 'sealed',
      },
    })
    assert.ifError((await call(machine, 'install')).error)
    assert.equal(text(KEY), own)
  })

  for (const [name, own] of [
    ['is missing', undefined],
    ['was replaced by other content', 'root:x:0:0\n'],
  ] as const)
    it(`makes no new key if secrets are sealed with one that ${name}`, async () => {
      const { machine, files } = fakeMachine({
        files: {
          '/var/lib/private/countersign/keychain/vault.sealed': 'sealed',
          ...(own === undefined ? {} : { '/var/lib/private/countersign/keychain.key': own }),
        },
      })
      const { error } = await call(machine, 'install')
      assert.equal(error?.exit, 8)
      assert.match(String(error?.message), /\/etc\/countersign\/key is missing/)
      assert.deepEqual([files.has(KEY), files.has(UNIT), files.has(PLACE)], [false, false, false])
    })

  const failing = (line: string) => (asked: string) =>
    asked === line ? { code: 1, out: '', err: `${line} says no\n` } : undefined
  const refusing = (path: string) => (asked: string) => {
    if (asked === path) throw refusal('EACCES')
  }
  const faults: [name: string, wish: Wish, message: RegExp][] = [
    ['the key', { refuse: refusing(KEY) }, /etc\/countersign\/key cannot be written \(EACCES\)/],
    ['the program', { refuse: refusing(PLACE) }, /bin\/countersignd cannot be written \(EACCES\)/],
    ['the unit', { refuse: refusing(UNIT) }, /countersignd.service cannot be written \(EACCES\)/],
    ...['daemon-reload', 'enable countersignd.service', 'restart countersignd.service'].map(
      (verb): (typeof faults)[number] => [
        verb,
        { answer: failing(`systemctl ${verb}`) },
        new RegExp(`"systemctl ${verb}" failed .*says no[^]*journalctl -u countersignd`),
      ],
    ),
  ]
  for (const [name, { refuse, answer }, message] of faults) {
    const fault = { ...(refuse && { refuse }), ...(answer && { answer }) }
    it(`leaves nothing installed after a failure at: ${name}`, async () => {
      // A removal applies to files that were written before. The rejected path was never written.
      const { machine, files, deeds } = fakeMachine(
        fault.refuse ? { refuse: onlyOnce(fault.refuse) } : fault,
      )
      const { error } = await call(machine, 'install')
      assert.match(String(error?.message), message)
      assert.match(
        String(error?.message),
        /The service is not installed\. All files that this command wrote have been removed again\.$/,
      )
      assert.deepEqual([files.has(UNIT), files.has(PLACE)], [false, false])
      const last = (line: string) => deeds.lastIndexOf(line)
      if (deeds.includes('systemctl enable countersignd.service'))
        assert.ok(
          last('systemctl disable --now countersignd.service') >
            last('systemctl enable countersignd.service'),
        )
    })

    it(`restores the older one after a failure at: ${name}`, async (t) => {
      if (name === 'the key') return t.skip('it has one already')
      // The previous version starts where the new one failed.
      let failed = false
      const answers = fault.answer && {
        answer(line: string) {
          const ran = failed ? undefined : fault.answer?.(line)
          failed ||= ran !== undefined
          return ran
        },
      }
      const { machine, files, deeds, text } = fakeMachine({ files: OLDER, ...fault, ...answers })
      const { error } = await call(machine, 'install')
      assert.match(String(error?.message), message)
      const begun = fault.answer !== undefined
      assert.match(
        String(error?.message),
        begun
          ? /The previous service was restored and is running again\.$/
          : /stays installed as it (is|was)/,
      )
      assert.deepEqual([text(UNIT), text(PLACE), text(KEY)], [OLD_UNIT, 'old program', 'old key'])
      assert.equal(files.size, 3)
      const restart = 'systemctl restart countersignd.service'
      if (begun) assert.ok(deeds.lastIndexOf(restart) > deeds.lastIndexOf(`write ${UNIT} 644`))
      else assert.ok(!deeds.includes(restart))
      assert.ok(!deeds.some((deed) => deed.includes('disable')))
    })
  }

  const ended = (code: number) => (line: string) =>
    line.includes('ActiveState')
      ? { code: 0, out: `ActiveState=failed\nExecMainStatus=${code}\n`, err: '' }
      : failing('systemctl restart countersignd.service')(line)
  for (const [name, code, message] of [
    [
      'does not start either',
      1,
      /is not running, because "systemctl restart .*" failed for it too/,
    ],
    [
      'refuses the state',
      7,
      /is not running, because the newer version has upgraded the state.*exit code 7/,
    ],
  ] as const)
    it(`reports the state if the older one is restored and ${name}`, async () => {
      const { machine, files, text } = fakeMachine({ files: OLDER, answer: ended(code) })
      const { error } = await call(machine, 'install')
      assert.match(String(error?.message), message)
      assert.doesNotMatch(String(error?.message), /stays installed|is running again/)
      assert.deepEqual([text(UNIT), text(PLACE), files.size], [OLD_UNIT, 'old program', 3])
    })

  it('restores the older one if launchd starts a newer one that does not answer', async () => {
    const place = '/Users/anna/.local/bin/countersignd'
    const list = '/Users/anna/Library/LaunchAgents/org.countersign.countersignd.plist'
    let asked = 0
    const { machine, deeds, text, files } = fakeMachine({
      ...MAC,
      files: { [place]: 'old program', [list]: '<?xml version="1.0"?><plist/>' },
      answer: (line) =>
        line.includes('health') && asked++ === 0 ? { code: 9, out: '', err: '' } : undefined,
    })
    const { error } = await call(machine, 'install')
    assert.match(String(error?.message), /was restored and is running again\.$/)
    assert.deepEqual([text(place), files.size], ['old program', 2])
    const last = (deed: RegExp) => deeds.findLastIndex((line) => deed.test(line))
    const order = [/^copy .*before/, /^write/, /bootout/, /bootstrap/, /health/].map(last)
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    )
  })

  it('names the kept program if it cannot restore it', async () => {
    let copies = 0
    const { machine, text } = fakeMachine({
      files: OLDER,
      answer: failing('systemctl restart countersignd.service'),
      refuse: (path) => {
        if (path === PLACE && ++copies > 1) throw refusal('ENOSPC')
      },
    })
    const { error } = await call(machine, 'install')
    assert.match(
      String(error?.message),
      /could not be restored to .*; it is kept as .*before \(ENOSPC\)/,
    )
    assert.equal(text(KEPT), 'old program')
  })

  it('deletes the older program once the newer one answers, and at uninstall', async () => {
    const { machine, files, deeds } = fakeMachine({ files: OLDER })
    assert.ifError((await call(machine, 'install')).error)
    assert.ok(deeds.includes(`copy ${PLACE} ${KEPT} 755`))
    assert.equal(files.has(KEPT), false)
    files.set(KEPT, { content: Buffer.from('of one that was cut off'), mode: 0o755 })
    assert.ifError((await call(machine, 'uninstall')).error)
    assert.deepEqual([...files.keys()], [KEY])
  })

  function onlyOnce(refuse: (path: string) => void) {
    let done = false
    return (path: string) => {
      if (done) return
      try {
        refuse(path)
      } catch (error) {
        done = true
        throw error
      }
    }
  }

  it('removes it if launchd starts a daemon that does not answer', async () => {
    const { machine, files, deeds } = fakeMachine({
      ...MAC,
      answer: (line) =>
        line.includes('health') ? { code: 9, out: '', err: 'silent\n' } : undefined,
    })
    const { error } = await call(machine, 'install')
    assert.equal(error?.exit, 9)
    assert.match(
      String(error?.message),
      /did not answer within 60 seconds[^]*The service is not installed/,
    )
    assert.equal(files.size, 0)
    assert.ok(deeds.includes('launchctl bootout gui/501/org.countersign.countersignd'))
  })

  const refusals: [string, Wish, Record<string, string | boolean>, RegExp][] = [
    [
      'only root can install for the whole machine',
      { uid: 1000 },
      { system: true },
      /Only root can/,
    ],
    [
      'Node cannot be installed for the whole machine',
      { self: { isExecutable: false, words: ['/n/node', '/c/c.cjs'] } },
      {},
      /npm run build:exe/,
    ],
    ['two scopes at once', {}, { system: true, user: true }, /either --user or --system, not both/],
    ['a system without a service manager', { platform: 'freebsd' }, {}, /does not support freebsd/],
    [
      'no systemd',
      { answer: () => ({ code: 1, out: '', err: 'not been booted with systemd\n' }) },
      {},
      /is not running here, as in most containers/,
    ],
    [
      'no user for the daemon of macOS',
      {
        ...MAC,
        uid: 0,
        answer: (line) => (line.startsWith('id ') ? { code: 1, out: '', err: '' } : undefined),
      },
      {},
      /sysadminctl -addUser _countersign/,
    ],
  ]
  for (const [name, wish, options, message] of refusals)
    it(`rejects, with a remedy and without changes: ${name}`, async () => {
      const { machine, files } = fakeMachine(wish)
      const { error } = await call(machine, 'install', options)
      assert.match(String(error?.message), message)
      assert.equal(files.size, 0)
    })

  const folder = { uid: 0, mode: 0o755, isFolder: true, isLink: false }
  const places: [string, string, Partial<typeof folder>, RegExp][] = [
    ["a user's folder", '/usr/local', { uid: 1000 }, /chown root '\/usr\/local'/],
    ["a group's folder", '/usr/local/bin', { mode: 0o2775 }, /chmod go-w '\/usr\/local\/bin'/],
    ['a world-writable folder', '/usr/local/bin', { mode: 0o1777 }, /chmod go-w/],
    ['a link', '/usr/local', { isLink: true }, /\/usr\/local is a link/],
    ["a user's file", PLACE, { uid: 1000, isFolder: false }, /chown root/],
  ]
  for (const [name, at, seen, message] of places)
    it(`rejects a place where another user could put a program: ${name}`, async () => {
      const { machine, deeds } = fakeMachine({
        lstat: (path) => ({ ...folder, ...(path === at ? seen : {}) }),
      })
      const { error } = await call(machine, 'install')
      assert.equal(error?.exit, 6)
      assert.match(String(error?.message), message)
      assert.deepEqual(deeds, [])
    })
})

describe('the socket of a service', () => {
  const failing = (): Wish => {
    let failed = false
    return {
      answer(line) {
        if (failed || line !== 'systemctl restart countersignd.service') return undefined
        failed = true
        return { code: 1, out: '', err: 'no' }
      },
    }
  }

  it('is removed again if the service does not start', async () => {
    const { machine, files, deeds } = fakeMachine(failing())
    const { error } = await call(machine, 'install', { socket: true })
    assert.match(String(error?.message), /The service is not installed\./)
    assert.deepEqual([files.has(UNIT), files.has(SOCKET_UNIT)], [false, false])
    assert(deeds.includes('systemctl disable --now countersignd.socket'))
  })

  it('is removed again if the older service had none and is restored', async () => {
    const { machine, files, deeds } = fakeMachine({ files: OLDER, ...failing() })
    const { error } = await call(machine, 'install', { socket: true })
    assert.match(String(error?.message), /was restored and is running again\.$/)
    assert.equal(files.has(SOCKET_UNIT), false)
    const ended = deeds.indexOf('systemctl disable --now countersignd.socket')
    assert(ended > deeds.indexOf('systemctl restart countersignd.socket'))
    assert(!deeds.slice(ended).includes('systemctl restart countersignd.socket'))
  })

  it('is restored with the older service that had one', async () => {
    const { machine, deeds, text } = fakeMachine({
      files: { ...OLDER, [SOCKET_UNIT]: 'old socket' },
      ...failing(),
    })
    const { error } = await call(machine, 'install', { socket: true })
    assert.match(String(error?.message), /was restored and is running again\.$/)
    assert.equal(text(SOCKET_UNIT), 'old socket')
    const restarts = deeds.filter((deed) => deed === 'systemctl restart countersignd.socket')
    assert.equal(restarts.length, 2)
  })

  it('stays if the service is upgraded without the option', async () => {
    const { machine, text } = fakeMachine({ files: { ...OLDER, [SOCKET_UNIT]: 'old socket' } })
    assert.ifError((await call(machine, 'install')).error)
    assert.equal(text(SOCKET_UNIT), 'old socket')
  })

  it('is removed with the service, before it could start it again', async () => {
    const { machine, deeds, files } = fakeMachine({ files: { ...OLDER, [SOCKET_UNIT]: 'x' } })
    const { out, error } = await call(machine, 'uninstall')
    assert.ifError(error)
    assert.deepEqual(deeds.slice(0, 2), [
      'systemctl disable --now countersignd.socket',
      'systemctl disable --now countersignd.service',
    ])
    assert.equal(files.has(SOCKET_UNIT), false)
    assert.match(out, /^Removed: .*countersignd\.socket/m)
  })

  for (const [name, wish, options, message] of [
    ['macOS', MAC, { socket: true }, /--socket needs systemd/],
    ['a group for the socket of a user', { uid: 1000 }, { 'socket-group': 'x' }, /is for --system/],
    ['a group with a line feed', {}, { 'socket-group': 'x\ny' }, /must be the name or the gid/],
  ] as const)
    it(`is rejected: ${name}`, async () => {
      const { machine, deeds } = fakeMachine(wish)
      assert.match(String((await call(machine, 'install', options)).error?.message), message)
      assert.deepEqual(deeds, [])
    })
})

describe('service uninstall', () => {
  it('removes the installed files, and keeps state and settings', async () => {
    const { machine, deeds, files } = fakeMachine({
      files: { ...OLDER, '/var/lib/private/countersign/state.db': '' },
    })
    const { out, error } = await call(machine, 'uninstall')
    assert.ifError(error)
    assert.deepEqual(deeds, [
      'systemctl disable --now countersignd.service',
      `remove ${UNIT}`,
      `remove ${PLACE}`,
      'systemctl daemon-reload',
    ])
    assert.deepEqual([...files.keys()], [KEY, '/var/lib/private/countersign/state.db'])
    assert.match(out, /^Kept: \/var\/lib\/private\/countersign, \/etc\/countersign$/m)
  })

  it('keeps a program that the unit does not run', async () => {
    const { machine, files } = fakeMachine({
      files: { [UNIT]: '[Service]\nExecStart=/opt/mine serve\n', [PLACE]: 'another' },
    })
    await call(machine, 'uninstall')
    assert.deepEqual([...files.keys()], [PLACE])
  })

  it('does nothing if nothing is installed', async () => {
    const { machine, deeds } = fakeMachine({ files: { [PLACE]: 'another' } })
    const { out } = await call(machine, 'uninstall')
    assert.deepEqual(deeds, [])
    assert.match(out, /was not installed/)
  })

  it('names files that it could not remove', async () => {
    const { machine } = fakeMachine({
      files: OLDER,
      refuse: (path) => {
        if (path === PLACE) throw refusal('EBUSY')
      },
    })
    const { error } = await call(machine, 'uninstall')
    assert.match(String(error?.message), /usr\/local\/bin\/countersignd \(EBUSY\)/)
  })

  it('purges only with the option', async () => {
    const { machine, deeds } = fakeMachine({ files: OLDER })
    const { error, purged } = await call(machine, 'uninstall', { purge: true })
    assert.match(String(error?.message), /add --yes/)
    assert.deepEqual([deeds, purged], [[], []])
  })

  it('purges the settings of the service, and names remaining files', async () => {
    const other = '/etc/countersign/notes.txt'
    const { machine, files } = fakeMachine({
      files: { ...OLDER, [other]: '', '/etc/countersign/countersignd.env': 'SVC_SMTP_URL=…' },
    })
    const { error, err, purged } = await call(machine, 'uninstall', { purge: true, yes: true })
    assert.ifError(error)
    assert.deepEqual(purged, ['/var/lib/private/countersign'])
    assert.deepEqual([...files.keys()], [other])
    assert.match(err, /notes\.txt was not created by this program, so it is kept/)
  })
})

describe("a user's service", () => {
  const ANNA = { uid: 1000, home: '/home/anna' } as const
  it("purges the user's own state and settings", async () => {
    const settings = '/home/anna/.config/countersign/environment'
    const { machine, files } = fakeMachine({ ...ANNA, files: { [settings]: '' } })
    await call(machine, 'install')
    const { purged } = await call(machine, 'uninstall', { purge: true, yes: true })
    assert.deepEqual(purged, ['/home/anna/.local/state/countersign'])
    assert.deepEqual([...files.keys()], [])
  })

  it("purges and names the service's folder, not that of the caller's shell", async () => {
    const settings = '/home/anna/.config/countersign/environment'
    const { machine } = fakeMachine({
      ...ANNA,
      env: { SVC_STATE_DIR: '/home/anna/mine' },
      files: { [settings]: 'SVC_STATE_DIR=/srv/service\n' },
    })
    await call(machine, 'install')
    const { purged, err } = await call(machine, 'uninstall', { purge: true, yes: true })
    assert.deepEqual(purged, ['/srv/service'])
    assert.match(err, /^Deleting the state folder of the service: \/srv\/service$/m)
  })

  it('removes nothing if its folder is uncertain', async () => {
    const settings = '/home/anna/.config/countersign/environment'
    const { machine, files } = fakeMachine({
      ...ANNA,
      files: { [settings]: 'SVC_STATE_DIR=/srv/a\\\n/b\n' },
    })
    await call(machine, 'install')
    const there = files.size
    const { error, purged } = await call(machine, 'uninstall', { purge: true, yes: true })
    assert.match(String(error?.message), /Line 1 of .*is ambiguous/)
    assert.deepEqual([purged, files.size], [[], there])
    assert.ifError((await call(machine, 'uninstall')).error)
    assert.deepEqual([...files.keys()], [settings])
  })

  it('is removed without Node and the sources', async () => {
    const self = { isExecutable: false, words: ['/n/node', '/c/c.cjs'] } as const
    const place = '/home/anna/.local/bin/countersignd'
    const { machine, files } = fakeMachine({ ...ANNA, self, files: { [place]: 'another' } })
    await call(machine, 'install')
    await call(machine, 'uninstall')
    assert.deepEqual([...files.keys()], [place])
  })
})

describe('service status', () => {
  const show = (state: string, health: number) => (line: string) => {
    if (line.includes('ActiveState'))
      return {
        code: 0,
        out: `ActiveState=${state}\nUnitFileState=enabled\nActiveEnterTimestamp=Sun 2026-11-22 02:03:32 UTC\n`,
        err: '',
      }
    return line.endsWith(' health') ? { code: health, out: '', err: '' } : undefined
  }
  const cases: [string, Wish, number, RegExp][] = [
    ['runs and answers', { files: OLDER, answer: show('active', 0) }, 0, /the daemon answers/],
    ['runs without an answer', { files: OLDER, answer: show('active', 9) }, 1, /does not answer/],
    ['has failed', { files: OLDER, answer: show('failed', 9) }, 1, /Running\s+no\n.*not running/],
    ['is not installed', { answer: show('inactive', 9) }, 1, /not installed/],
  ]
  for (const [name, wish, code, text] of cases)
    it(`reports that the service ${name}`, async () => {
      const result = await call(fakeMachine(wish).machine, 'status')
      assert.equal(result.code, code)
      assert.match(result.out, text)
    })

  it("asks the machine's daemon, with any state folder of the caller", async () => {
    const { machine, environments, deeds } = fakeMachine({
      files: OLDER,
      answer: show('active', 0),
    })
    await call(machine, 'status')
    const env = environments[deeds.indexOf(`${PLACE} health`)]
    assert.deepEqual([env?.['SVC_STATE_DIR'], env?.['XDG_STATE_HOME']], ['', '/nonexistent'])
  })
})

describe('service print', () => {
  for (const [platform, first] of [
    ['linux', /^# Written by/],
    ['darwin', /^<\?xml version="1.0" encoding="UTF-8"\?>/],
    ['win32', /^<\?xml version="1.0" encoding="UTF-16"\?>/],
  ] as const)
    it(`shows the file and the commands of ${platform} on any machine, and changes nothing`, async () => {
      const { machine, deeds } = fakeMachine({ uid: 1000, platform: 'freebsd' })
      const { out, err, error } = await call(machine, 'print', { platform, system: true })
      assert.ifError(error)
      assert.match(out, first)
      assert.match(err, /Then these commands are run:\n {2}\w/)
      assert.deepEqual(deeds, [])
    })

  it('names the known systems', async () => {
    const { error } = await call(fakeMachine().machine, 'print', { platform: 'plan9' })
    assert.match(String(error?.message), /--platform must be one of: linux, darwin, win32/)
  })
})

describe('a service from the package', () => {
  const PACKAGED = '/usr/lib/systemd/system/countersignd.service'
  const FROM_PACKAGE = {
    [PACKAGED]: '[Service]\nExecStart=/usr/bin/countersignd serve\n',
    [KEY]: 'k',
  }

  for (const [verb, options] of [
    ['install', {}],
    ['uninstall', {}],
    ['uninstall', { purge: true, yes: true }],
  ] as const)
    it(`is not changed by ${verb} ${Object.keys(options).join(' ')}`, async () => {
      const { machine, deeds } = fakeMachine({ files: FROM_PACKAGE })
      const { error, purged } = await call(machine, verb, options)
      assert.match(
        String(error?.message),
        /belongs to the package countersignd .* Nothing was changed/,
      )
      assert.deepEqual([deeds, purged], [[], []])
    })

  it('takes over from an older installation, which keeps the state', async () => {
    const { machine, files } = fakeMachine({ files: { ...OLDER, ...FROM_PACKAGE } })
    assert.ifError((await call(machine, 'uninstall')).error)
    assert.deepEqual([...files.keys()].toSorted(), [KEY, PACKAGED].toSorted())
    const { error } = await call(machine, 'uninstall', { purge: true, yes: true })
    assert.match(String(error?.message), /apt purge countersignd/)
  })

  it('is reported by status, which asks its daemon', async () => {
    const { machine, deeds } = fakeMachine({
      files: FROM_PACKAGE,
      answer: (line) =>
        line.includes('ActiveState')
          ? { code: 0, out: 'ActiveState=active\nUnitFileState=enabled\n', err: '' }
          : undefined,
    })
    const { code, out } = await call(machine, 'status')
    assert.equal(code, 0)
    assert.match(out, new RegExp(PACKAGED))
    assert(deeds.includes('/usr/bin/countersignd health'))
  })

  it("leaves a user's service alone", async () => {
    const { machine } = fakeMachine({ uid: 1000, home: '/home/anna', files: FROM_PACKAGE })
    assert.ifError((await call(machine, 'install')).error)
  })

  it('gets a key that only root can read, once', async () => {
    const { machine, files } = fakeMachine()
    assert.ifError((await call(machine, 'key')).error)
    const { content, mode } = files.get(KEY)!
    assert.match(Buffer.from(content).toString(), /^[0-9a-f]{64}\n$/)
    assert.equal(mode, 0o600)
    await call(machine, 'key')
    assert.equal(files.get(KEY)?.content, content)
  })
})
