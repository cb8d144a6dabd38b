/** The state folder of a service: read from its own settings, and an error if it is ambiguous. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ServiceScope } from '../../../src/cli/service/definition.ts'
import { definitionOf } from '../../../src/cli/service/definitions.ts'
import { fromPropertyList } from '../../../src/cli/service/launchd.ts'
import { askedThere, stateDirOf } from '../../../src/cli/service/state-dir.ts'
import { type Wish, fakeMachine, refusal } from './fake-machine.ts'

const USER_SETTINGS = '/home/anna/.config/countersign/environment'
const SYSTEM_SETTINGS = '/etc/countersign/countersignd.env'
const OWN = '/home/anna/.local/state/countersign'
/** The caller’s shell is set up for another account. */
const SHELL = { SVC_STATE_DIR: '/home/anna/mine', XDG_STATE_HOME: '/home/anna/xdg' }

function folderOn(platform: 'linux' | 'darwin', scope: ServiceScope, wish: Wish) {
  const home = platform === 'linux' ? '/home/anna' : '/Users/anna'
  const { machine } = fakeMachine({ platform, uid: 1000, home, env: SHELL, ...wish })
  const wanted = { scope, program: ['/c'] as const, home, uid: 1000, env: SHELL, socket: null }
  const definition = definitionOf(platform, wanted)
  return { machine, definition, found: stateDirOf(machine, platform, definition) }
}

const LINES: [text: string, user: string, system: string][] = [
  ['', OWN, '/var/lib/private/countersign'],
  ['SVC_STATE_DIR=/srv/a\n', '/srv/a', '/srv/a'],
  ['# SVC_STATE_DIR=/srv/a\n; more\n\nSVC_HTTP_PORT=0\n', OWN, '/var/lib/private/countersign'],
  ['SVC_STATE_DIR=/srv/a\r\n  SVC_STATE_DIR = "/srv/b c"  \n', '/srv/b c', '/srv/b c'],
  ["SVC_STATE_DIR='/srv/a #1'", '/srv/a #1', '/srv/a #1'],
  ['SVC_STATE_DIR=/srv/a\nSVC_STATE_DIR=\n', OWN, '/var/lib/private/countersign'],
  ['SVC_STATE_DIR=/srv/a # so\n', '/srv/a # so', '/srv/a # so'],
  ['XDG_STATE_HOME=/srv/x\n', '/srv/x/countersign', '/var/lib/private/countersign'],
  ['SVC_SMTP_URL="smtp://a:\\"b@c"\nSVC_STATE_DIR=/srv/a', '/srv/a', '/srv/a'],
  [
    'SVC_STATE_DIR=/var/lib/countersign',
    '/var/lib/private/countersign',
    '/var/lib/private/countersign',
  ],
]
const DOUBTS = [
  'SVC_STATE_DIR=/srv/a\\\n/b\n',
  'SVC_STATE_DIR=/srv/a\\ b\n',
  'SVC_STATE_DIR="/srv/a"/b\n',
  'SVC_SMTP_URL="two\nSVC_STATE_DIR=/srv/a"\n',
  '# a comment\\\nSVC_STATE_DIR=/srv/a\n',
  'export SVC_STATE_DIR=/srv/a\n',
  '\ufeffSVC_STATE_DIR=/srv/a\n',
  'SVC_STATE_DIR=srv\n',
]

describe('the state folder of a service of systemd', () => {
  for (const [text, user, system] of LINES)
    it(`comes from its settings: ${JSON.stringify(text)}`, async () => {
      const files = { [USER_SETTINGS]: text, [SYSTEM_SETTINGS]: text }
      const found = [
        await folderOn('linux', 'user', { files }).found,
        await folderOn('linux', 'system', { files }).found,
      ]
      assert.deepEqual(found, [user, system])
    })

  for (const text of DOUBTS)
    it(`is rejected if uncertain: ${JSON.stringify(text)}`, async () => {
      const files = { [USER_SETTINGS]: text }
      await assert.rejects(folderOn('linux', 'user', { files }).found, { exit: 3 })
    })

  it('uses the environment that the user’s systemd gives to services', async () => {
    const says = (out: string, code = 0): Wish => ({
      answer: (line) =>
        line === 'systemctl --user show-environment' ? { code, out, err: '' } : undefined,
    })
    const xdg = says('HOME=/home/anna\nXDG_STATE_HOME=/srv/x\n')
    assert.equal(await folderOn('linux', 'user', xdg).found, '/srv/x/countersign')
    await assert.rejects(folderOn('linux', 'user', says("XDG_STATE_HOME=$'/a b'\n")).found, {
      exit: 3,
    })
    await assert.rejects(folderOn('linux', 'user', says('', 1)).found, /Log in as that user/)
  })

  it('is rejected if a drop-in sets it, or a file cannot be read', async () => {
    const dropIn = '/etc/systemd/system/countersignd.service.d/override.conf'
    const by = (text: string) => folderOn('linux', 'system', { files: { [dropIn]: text } }).found
    await assert.rejects(
      by('[Service]\nEnvironment=SVC_STATE_DIR=/srv/a\n'),
      /override\.conf changes the state folder/,
    )
    assert.equal(await by('[Service]\nLoadCredential=\n'), '/var/lib/private/countersign')
    const read = () => {
      throw refusal('EACCES')
    }
    await assert.rejects(folderOn('linux', 'user', { read }).found, /cannot be read \(EACCES\)/)
  })

  it('is passed to the health check of the service', async () => {
    const files = { [USER_SETTINGS]: 'SVC_STATE_DIR=/srv/a\n' }
    const { machine, definition } = folderOn('linux', 'user', { files })
    const asked = await askedThere(machine, 'linux', definition)
    assert.deepEqual(asked.health.env, { SVC_STATE_DIR: '/srv/a' })
  })
})

describe('the state folder of a service of launchd', () => {
  const PLIST = '/Users/anna/Library/LaunchAgents/org.countersign.countersignd.plist'
  const list = (inner: string) => `<?xml version="1.0"?>\n<plist><dict>${inner}</dict></plist>`
  const variables = (inner: string) => list(`<key>EnvironmentVariables</key> <dict>${inner}</dict>`)
  const named = '\n <key>SVC_STATE_DIR</key>\n <string>/srv/a&amp;b</string>\n'

  for (const [name, text, expected] of [
    ['nothing', list(''), '/Users/anna/Library/Application Support/countersign'],
    ['a folder', variables(named), '/srv/a&b'],
    ['none', variables(''), '/Users/anna/Library/Application Support/countersign'],
  ] as const)
    it(`comes from its property list: ${name}`, async () => {
      assert.equal(await folderOn('darwin', 'user', { files: { [PLIST]: text } }).found, expected)
    })

  for (const text of [
    'bplist00…',
    variables(`<!-- ${named} -->`),
    variables(`${named}<key>A</key><integer>1</integer>`),
    variables('<key>SVC_STATE_DIR</key><string>&#47;srv</string>'),
    list('<key>EnvironmentVariables</key><string/>'),
  ])
    it(`is rejected if uncertain: ${text.slice(0, 90)}`, () => {
      assert.throws(() => fromPropertyList(Buffer.from(text), PLIST), /ambiguous/)
    })
})
