/**
 * The definitions of the service: equal to the reviewed files, accepted by the tools of each
 * system, with any path in them.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  PLATFORMS,
  type ServiceScope,
  type ServicePlatform,
  type ServiceSettings,
  type CommandWords,
  unitPath,
} from '../../../src/cli/service/definition.ts'
import { definitionOf } from '../../../src/cli/service/definitions.ts'
import { encoded } from '../../../src/cli/service/install.ts'
import { argument } from '../../../src/cli/service/task-scheduler.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'

const SCOPES: readonly ServiceScope[] = ['user', 'system']

const HOMES: Readonly<Record<ServicePlatform, string>> = {
  linux: '/home/anna',
  darwin: '/Users/anna',
  win32: 'C:\\Users\\anna',
}

function wantedOn(
  platform: ServicePlatform,
  scope: ServiceScope,
  program?: CommandWords,
): ServiceSettings {
  const env = platform === 'win32' ? { USERDOMAIN: 'OFFICE', USERNAME: 'anna' } : {}
  const wanted = { scope, home: HOMES[platform], uid: 501, env, socket: null }
  return { ...wanted, program: program ?? [unitPath(platform, wanted)] }
}

const made = (platform: ServicePlatform, scope: ServiceScope, program?: CommandWords) =>
  definitionOf(platform, wantedOn(platform, scope, program))

/** Returns why a test that needs a tool is skipped; false if the tool is installed. */
const without = (tool: string) =>
  spawnSync(tool, ['--version']).error === undefined ? false : `${tool} is not installed`

const NO_SYSTEMD = without('systemd-analyze')
const NO_XMLLINT = without('xmllint')

/** Paths that break a definition which does not escape them. */
const ODD = [
  '/opt/a b/countersignd',
  '/opt/50%n/countersignd',
  '/opt/%h/countersignd',
  `/opt/it's "so"/countersignd`,
  '/opt/back\\slash/countersignd',
  '/opt/$HOME/countersignd',
  '/opt/a&b<c>/countersignd',
  '/opt/größe 東/countersignd',
  '/opt/semi;colon#1/countersignd',
]

describe('the definitions', () => {
  for (const platform of PLATFORMS)
    for (const scope of SCOPES)
      it(`match the reviewed ones: ${platform}, ${scope}`, () => {
        const { file, start, end, before, after, ask, health, ...rest } = made(platform, scope)
        const lines = (of: readonly (readonly string[])[]) => of.map((words) => words.join(' '))
        const { path, content, mode } = file
        const text = `${JSON.stringify(
          {
            path,
            mode: mode.toString(8),
            before: lines(before),
            start: lines(start),
            end: lines(end),
            after: lines(after),
            ask: ask.join(' '),
            health: health.words.join(' '),
            ...rest,
          },
          null,
          2,
        )}\n\n${content.replace('\ufeff', '').replaceAll('\r\n', '\n')}`
        const golden = join(import.meta.dirname, '../../golden/service', `${platform}-${scope}.txt`)
        if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(golden, text)
        assert.equal(text, readFileSync(golden, 'utf8'))
      })

  it('reject a path that a line or an XML text cannot contain', () => {
    for (const platform of PLATFORMS)
      assert.throws(
        () => made(platform, 'user', ['/opt/two\nlines/countersignd']),
        /contains a character that/,
      )
    for (const path of [
      '/opt/"a"/countersignd',
      "/opt/it's/countersignd",
      '/opt/a\\b/countersignd',
    ])
      assert.throws(() => made('linux', 'user', [path]), /systemd does not accept/)
  })
})

/** Creates an executable at this path and returns its file. */
function program(root: string, path: string): string {
  const file = join(root, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, '#!/bin/sh\n')
  chmodSync(file, 0o755)
  return file
}

describe('the units of systemd', { skip: NO_SYSTEMD }, () => {
  for (const scope of SCOPES)
    it(`contain nothing unknown to systemd, with any path: ${scope}`, (t) => {
      const root = freshFolder(t)
      for (const path of ODD) {
        // systemd rejects these characters in the program’s path only, not in its arguments.
        const first = program(root, path.replace(/["'\\]/g, '-'))
        const { content } = made('linux', scope, [first, `${path}.cjs`]).file
        const unit = join(root, 'countersignd.service')
        writeFileSync(unit, content)
        const { status, stderr } = spawnSync(
          'systemd-analyze',
          [
            ...(scope === 'user' ? ['--user'] : []),
            '--man=no',
            '--recursive-errors=no',
            'verify',
            unit,
          ],
          { encoding: 'utf8', env: { ...process.env, XDG_RUNTIME_DIR: root } },
        )
        assert.deepEqual({ path, status, stderr }, { path, status: 0, stderr: '' })
      }
    })

  for (const [scope, group, mode] of [
    ['user', null, 'SocketMode=0600'],
    ['system', null, 'SocketMode=0600'],
    ['system', 'staff', 'SocketMode=0660\nSocketGroup=staff'],
  ] as const)
    it(`the socket contains nothing unknown: ${scope}, group ${group}`, (t) => {
      const root = freshFolder(t)
      const wanted = wantedOn('linux', scope, [program(root, '/countersignd')])
      const { file, socket } = definitionOf('linux', { ...wanted, socket: { group } })
      assert(socket)
      assert(socket.file.content.includes(`${mode}\n`))
      // The socket starts the service that has its name.
      writeFileSync(join(root, 'countersignd.service'), file.content)
      const unit = join(root, 'countersignd.socket')
      writeFileSync(unit, socket.file.content)
      const user = scope === 'user' ? ['--user'] : []
      const words = [...user, '--man=no', '--recursive-errors=no', 'verify', unit]
      const env = { ...process.env, XDG_RUNTIME_DIR: root }
      const { status, stderr } = spawnSync('systemd-analyze', words, { encoding: 'utf8', env })
      assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
    })

  it('have little exposure: the system unit at most 2.5 of 10', (t) => {
    const unit = join(freshFolder(t), 'countersignd.service')
    writeFileSync(unit, made('linux', 'system').file.content)
    // It exits with 1 above the threshold, which is in tenths.
    execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=25', unit])
  })
})

describe('the XML definitions', { skip: NO_XMLLINT }, () => {
  const read = (file: string, xpath: string) =>
    execFileSync('xmllint', ['--nonet', '--xpath', xpath, file], { encoding: 'utf8' }).trimEnd()

  for (const scope of SCOPES) {
    it(`are property lists with the exact path: ${scope}`, (t) => {
      const file = join(freshFolder(t), 'list.plist')
      for (const path of ODD) {
        writeFileSync(file, encoded(made('darwin', scope, [path]).file))
        execFileSync('xmllint', ['--nonet', '--noout', file], { stdio: 'pipe' })
        const key = '//key[.="ProgramArguments"]/following-sibling::array[1]'
        assert.equal(read(file, `string(${key}/string[1])`), path)
        assert.equal(read(file, `string(${key}/string[2])`), 'serve')
      }
    })

    it(`are tasks in UTF-16 with a byte order mark, with the exact path: ${scope}`, (t) => {
      const file = join(freshFolder(t), 'task.xml')
      for (const path of ODD) {
        const bytes = encoded(made('win32', scope, [path]).file)
        assert.deepEqual([...bytes.subarray(0, 4)], [0xff, 0xfe, 0x3c, 0x00])
        writeFileSync(file, bytes)
        execFileSync('xmllint', ['--nonet', '--noout', file], { stdio: 'pipe' })
        const at = (name: string) => read(file, `string(//*[local-name()="${name}"])`)
        const [command, args] = [at('Command'), at('Arguments')]
        if (scope === 'system') assert.deepEqual([command, args], [path, 'serve'])
        else assert.equal(args, `--headless ${argument(path)} serve`)
      }
    })
  }
})

/** [an argument, its form on a command line] */
const ARGUMENTS: readonly (readonly [string, string])[] = [
  ['serve', 'serve'],
  ['', '""'],
  ['C:\\a b\\c.exe', '"C:\\a b\\c.exe"'],
  ['C:\\a\\', 'C:\\a\\'],
  ['C:\\a b\\', '"C:\\a b\\\\"'],
  ['say "hi"', '"say \\"hi\\""'],
  ['a\\"b', '"a\\\\\\"b"'],
]

it('an argument on Windows is parsed back to the same value', () => {
  for (const [given, written] of ARGUMENTS) assert.equal(argument(given), written)
})

describe('parsing the state from a service manager', () => {
  const standing = (platform: ServicePlatform, out: string, code = 0) =>
    made(platform, 'user').standing({ code, out })

  const cases: [string, ServicePlatform, string, number, ReturnType<typeof standing>][] = [
    [
      'systemd: running',
      'linux',
      'ActiveState=active\nActiveEnterTimestamp=Sun 2026-11-22 02:03:32 UTC\nUnitFileState=enabled\n',
      0,
      { enabled: true, running: true, since: '2026-11-22T02:03:32Z' },
    ],
    [
      'systemd: failed',
      'linux',
      'ActiveState=failed\nActiveEnterTimestamp=Sun 2026-11-22 02:03:32 UTC\nUnitFileState=enabled\n',
      0,
      { enabled: true, running: false, since: null },
    ],
    [
      'systemd: no such unit',
      'linux',
      'ActiveState=inactive\nActiveEnterTimestamp=\nUnitFileState=\n',
      0,
      { enabled: false, running: false, since: null },
    ],
    [
      'launchd: running',
      'darwin',
      'gui/501/org.countersign.countersignd = {\n\tactive count = 1\n\tstate = running\n\tpid = 77\n}\n',
      0,
      { enabled: true, running: true, since: null },
    ],
    [
      'launchd: waiting for a restart',
      'darwin',
      'gui/501/org.countersign.countersignd = {\n\tstate = spawn scheduled\n}\n',
      0,
      { enabled: true, running: false, since: null },
    ],
    [
      'launchd: no such service',
      'darwin',
      '',
      113,
      { enabled: false, running: false, since: null },
    ],
    ['Windows: running', 'win32', 'Running\r\n', 0, { enabled: true, running: true, since: null }],
    [
      'Windows: disabled',
      'win32',
      'Disabled\r\n',
      0,
      { enabled: false, running: false, since: null },
    ],
    ['Windows: no such task', 'win32', '', 1, { enabled: false, running: false, since: null }],
  ]
  for (const [name, platform, out, code, expected] of cases)
    it(name, () => assert.deepEqual(standing(platform, out, code), expected))
})
