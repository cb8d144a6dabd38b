/** `config show`, and a setting in the state folder that the daemon and the command line share. */
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { run } from '../../../src/cli/run.ts'
import { SETTINGS } from '../../../src/config/settings.ts'
import { EXIT } from '../../../src/errors.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { streams } from '../terminal.ts'

interface Report {
  readonly ok: boolean
  readonly settings: readonly Record<string, unknown>[]
  readonly files: readonly Record<string, unknown>[]
  readonly faults: readonly string[]
}

/** Runs a command on a machine without a file for all users. */
async function show(stateDir: string, env: NodeJS.ProcessEnv, ...options: string[]) {
  const { result, io } = streams()
  const machine = {
    platform: process.platform,
    homedir: () => stateDir,
    settingsFile: join(stateDir, 'absent'),
  }
  const all = { SVC_STATE_DIR: stateDir, ...env }
  const code = await run(['config', 'show', ...options], { ...io, env: all, machine })
  return { code, ...result }
}

test('config show: every setting with its value and its source', async (t) => {
  const dir = freshFolder(t)
  const path = join(dir, 'countersignd.env')
  writeFileSync(path, '# a comment\nSVC_HTTP_PORT=2\nSVC_LOG_LEVEL=debug\nTZ=UTC\n', {
    mode: 0o600,
  })
  const env = {
    SVC_LOG_LEVEL: 'warn',
    SVC_CONSOLE: '',
    SVC_ENV_LAB_URL: 'https://lab.example',
  }
  const { code, out, err } = await show(dir, env, '--json')
  assert.equal(code, EXIT.ok, err)
  const { ok, settings, files, faults } = JSON.parse(out) as Report
  assert.deepEqual([ok, faults], [true, []])
  const by = new Map(settings.map((one) => [one['name'], one]))
  assert(SETTINGS.every(({ name }) => name.includes('<') || by.has(name)))
  const set = { secret: false, file: null, line: null }
  const expected = {
    SVC_HTTP_PORT: { ...set, value: '2', source: 'file', file: path, line: 2 },
    SVC_LOG_LEVEL: { ...set, value: 'warn', source: 'environment' },
    SVC_CONSOLE: { ...set, value: null, source: 'environment' },
    SVC_ENV_LAB_URL: { ...set, value: 'https://lab.example', source: 'environment' },
    SVC_ACCOUNT_PORT: { ...set, value: null, source: 'default' },
  }
  for (const [name, one] of Object.entries(expected))
    assert.deepEqual(by.get(name), { name, ...one })
  assert.deepEqual(files, [
    { path, state: 'read', others: ['TZ'] },
    { path: join(dir, 'absent'), state: 'absent', others: [] },
  ])

  const person = await show(dir, env)
  assert.match(person.out, /^SETTING +VALUE +SOURCE\n/)
  assert(person.out.includes(`${path}:2\n`), person.out)
  assert.match(person.out, /^SVC_ACCOUNT_PORT +19822 +default$/m)
  assert.match(person.out, /^SVC_ENV_LAB_URL +https:\/\/lab.example +environment$/m)
  assert.match(person.err, /Only systemd passes these lines of .* on to the program: TZ\./)
})

const secrets: readonly (readonly [name: string, value: string])[] = [
  ['SVC_TOKEN', 'canary'],
  ['SVC_DATABASE_URL', 'postgres://u:canary@h/d'],
  ['SVC_SMTP_URL', 'smtps://u:canary@h'],
  ['SVC_ASSISTANT_URL', 'https://h/canary'],
  // These are mistakes, which their faults do not show either.
  ['SVC_ASSISTANT_KEY_FILE', 'canary'],
  ['SVC_BACKEND_URL', 'https://u:canary@h'],
  ['SVC_BACKEND_URL', 'https://u:canary/x@h'],
  ['SVC_BACKEND_URL', 'https:/u:canary@h'],
  ['SVC_BACKEND_URL', 'https://h/?key=canary'],
  ['SVC_ENV_LAB_URL', 'HTTPS:u:canary@h'],
]
for (const [name, value] of secrets)
  test(`config show hides a secret in ${name}: ${value}`, async (t) => {
    const dir = freshFolder(t)
    writeFileSync(join(dir, 'countersignd.env'), `${name}=${value}\n`, { mode: 0o600 })
    for (const options of [[], ['--json']]) {
      const { out, err } = await show(dir, {}, ...options)
      assert.doesNotMatch(out + err, /canary/)
      assert.match(out, options.length === 0 ? /set; not shown/ : /"secret": true/)
    }
  })

test('config show reports every fault, with exit code 3', async (t) => {
  const dir = freshFolder(t)
  const path = join(dir, 'countersignd.env')
  writeFileSync(path, 'SVC_HTTP_PORT=x\nSVC_TOKN=canary\n', { mode: 0o600 })
  const { code, out, err } = await show(dir, { SVC_LOG_LEVEL: 'loud' }, '--json')
  assert.equal(code, EXIT.configuration)
  const { ok, faults } = JSON.parse(out) as Report
  assert.equal(ok, false)
  const says = [
    /^SVC_LOG_LEVEL is "loud"/,
    /:1: SVC_HTTP_PORT is "x"/,
    /:2: "SVC_TOKN".*SVC_TOKEN\?$/,
  ]
  assert.equal(faults.length, says.length)
  for (const one of says) assert(faults.some((fault) => one.test(fault)))
  assert.equal(err.trimEnd().split('\n').length, says.length)
  assert.doesNotMatch(out + err, /canary/)
})

test('config show names a file that others can write', async (t) => {
  const dir = freshFolder(t)
  const path = join(dir, 'countersignd.env')
  writeFileSync(path, 'SVC_HTTP_PORT=2\n')
  chmodSync(path, 0o666)
  const { code, err } = await show(dir, {})
  assert.equal(code, EXIT.configuration)
  assert.match(err, /Other users can write to .*chmod go-w/)
  assert(err.includes(`${path} was refused, so its settings do not apply.`), err)
  const { out } = await show(dir, {}, '--json')
  const { files } = JSON.parse(out) as Report
  assert.deepEqual(files[0], { path, state: 'refused', others: [] })
})
