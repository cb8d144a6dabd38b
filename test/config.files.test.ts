/** Settings from the files: which value applies, and which files and lines are rejected. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { readConfig, surveyConfig } from '../src/config/config.ts'
import { environmentLines } from '../src/config/environment-file.ts'
import { SETTINGS_FILE } from '../src/config/settings-files.ts'
import { EXIT, StartError } from '../src/errors.ts'
import { freshFolder } from './keychain/fresh-folder.ts'

type Env = Record<string, string>

const isRoot = process.geteuid?.() === 0
const hasModes = process.platform !== 'win32'

/** Returns a machine with these files, and a function that reads the settings there. */
function machine(t: TestContext, files: { state?: string; system?: string }) {
  const dir = freshFolder(t)
  const [stateDir, folder] = [join(dir, 'state'), join(dir, 'etc')]
  for (const path of [stateDir, folder]) mkdirSync(path, { mode: 0o700 })
  const [own, settingsFile] = [join(stateDir, SETTINGS_FILE), join(folder, SETTINGS_FILE)]
  if (files.state !== undefined) writeFileSync(own, files.state, { mode: 0o600 })
  if (files.system !== undefined) writeFileSync(settingsFile, files.system, { mode: 0o600 })
  const os = { platform: 'linux', homedir: () => '/nonexistent', settingsFile } as const
  const read = (env: Env = { SVC_STATE_DIR: stateDir }) => readConfig(env, os)
  const survey = (env: Env = { SVC_STATE_DIR: stateDir }) => surveyConfig(env, os)
  const fault = (env?: Env): string => {
    try {
      read(env)
    } catch (error) {
      assert(error instanceof StartError)
      assert.equal(error.exit, EXIT.configuration)
      return error.message
    }
    assert.fail('the settings were accepted')
  }
  return { stateDir, own, settingsFile, read, survey, fault }
}

describe('settings from files', () => {
  it('the environment comes first, then the state folder, then the file for all users', (t) => {
    const { stateDir, read } = machine(t, {
      state: 'SVC_HTTP_PORT=2\nSVC_ACCOUNT_PORT=2\n',
      system: 'SVC_HTTP_PORT=3\nSVC_ACCOUNT_PORT=3\nSVC_LOG_LEVEL=debug\n',
    })
    const { port, accountPort, logLevel } = read({ SVC_STATE_DIR: stateDir, SVC_HTTP_PORT: '1' })
    assert.deepEqual([port, accountPort, logLevel], [1, 2, 'debug'])
  })

  it('an empty value hides the values of the files that come after it', (t) => {
    const { stateDir, read } = machine(t, {
      state: 'SVC_ACCOUNT_PORT=\n',
      system: 'SVC_HTTP_PORT=3\nSVC_ACCOUNT_PORT=3\n',
    })
    const { port, accountPort } = read({ SVC_STATE_DIR: stateDir, SVC_HTTP_PORT: '' })
    assert.deepEqual([port, accountPort], [19821, 19822])
  })

  it('the file for all users can name the state folder, and its file is read too', (t) => {
    const { stateDir, settingsFile, read } = machine(t, { state: 'SVC_HTTP_PORT=2\n' })
    writeFileSync(settingsFile, `SVC_STATE_DIR=${stateDir}\n`)
    assert.equal(read({}).stateDir, stateDir)
    assert.equal(read({}).port, 2)
    // The folder is that of the daemon of the machine, so that other users call this daemon.
    assert.equal(read({}).system?.state, stateDir)
    assert.equal(read({ SVC_STATE_DIR: stateDir }).system, null)
  })

  it('only SVC_ names are settings; the survey lists the others', (t) => {
    const { own, survey } = machine(t, { state: 'HOME=/x\nTZ=UTC\nSVC_HTTP_PORT=2\n' })
    const { files, values, places } = survey()
    assert.deepEqual(files[0]?.others, ['HOME', 'TZ'])
    assert.equal(values['HOME'], undefined)
    assert.deepEqual([...places.keys()], ['SVC_HTTP_PORT'])
    assert.partialDeepStrictEqual(places.get('SVC_HTTP_PORT'), { path: own, line: 3 })
  })

  const refused: Record<string, [state: string, says: RegExp]> = {
    'a wrong value': ['\nSVC_HTTP_PORT=x\n', /env:2: SVC_HTTP_PORT is "x": it must be/],
    'an unknown name': [
      'SVC_HTTP_PROT=1',
      /env:1: "SVC_HTTP_PROT" is not the name of a setting. Did you mean SVC_HTTP_PORT\?$/,
    ],
    'an unknown name without a value': ['SVC_FOO=', /env:1: "SVC_FOO" is not the name/],
    'the state folder': ['SVC_STATE_DIR=/x', /env:1: SVC_STATE_DIR cannot be set in the state/],
    'the same name twice': [
      'SVC_HTTP_PORT=1\n#\nSVC_HTTP_PORT=1',
      /env:3: SVC_HTTP_PORT stands in line 1 too/,
    ],
    'a word of a shell': ['export SVC_HTTP_PORT=1', /env:1: this line is not an assignment/],
    'no assignment': ['SVC_HTTP_PORT', /env:1: this line is not an assignment/],
    'an open quotation': ['SVC_HTTP_PORT="1', /env:1: this line/],
    'text after a quotation': ['SVC_HTTP_PORT="1"2', /env:1: this line/],
    'a backslash': ['SVC_MAIL_FROM=a\\b', /env:1: this line/],
    'a comment that continues': ['# \\\nSVC_HTTP_PORT=1', /env:1: this line/],
    'a byte order mark': ['\uFEFFSVC_HTTP_PORT=1', /env:1: this line/],
    'a NUL': ['SVC_HTTP_PORT=1\0', /is not UTF-8 text/],
    'too many bytes': [`#${'x'.repeat(65_536)}`, /longer than 65536 bytes/],
    'two settings that exclude each other': [
      'SVC_MAIL_DIR=/m\nSVC_SMTP_URL=smtps://u:canary@h',
      /env:1: SVC_MAIL_DIR and .*\(SVC_SMTP_URL is set in .*countersignd\.env:2\.\)$/,
    ],
  }
  for (const [name, [state, says]] of Object.entries(refused))
    it(`rejects ${name}`, (t) => {
      const message = machine(t, { state }).fault()
      assert.match(message, says)
      assert.doesNotMatch(message, /canary/)
    })

  it('a fault of the environment is not attributed to a file', (t) => {
    const { stateDir, fault } = machine(t, { state: 'SVC_PUBLIC_URL=http://127.0.0.1:1\n' })
    assert.match(
      fault({ SVC_STATE_DIR: stateDir, SVC_ACCOUNT_BIND: '0.0.0.0' }),
      /^SVC_ACCOUNT_BIND is.*\(SVC_PUBLIC_URL is set in .*:1\.\)$/,
    )
  })

  it('the survey has every fault', (t) => {
    const { survey } = machine(t, {
      state: 'SVC_HTTP_PORT=x\nSVC_FOO=1\n',
      system: 'SVC_ACCOUNT_PORT=x\nwhat\n',
    })
    const { faults, config } = survey()
    assert.equal(faults.length, 4)
    assert.equal(config.logLevel, 'info')
  })
})

describe('the mode and the owner of a file with settings', { skip: !hasModes }, () => {
  const secret = 'SVC_TOKEN=canary\n'
  const cases: [name: string, text: string, mode: number, says: RegExp | null][] = [
    ['settings that all may read', 'SVC_HTTP_PORT=1\n', 0o644, null],
    ['a secret that the group may read', secret, 0o640, null],
    ['a secret that all may read', secret, 0o644, /contains SVC_TOKEN, and every user.*chmod 600/],
    ['a file that the group may write', '', 0o660, /Other users can write to .*chmod go-w/],
    ['a file that all may write', '', 0o602, /Other users can write to .*chmod go-w/],
  ]
  for (const [name, text, mode, says] of cases)
    for (const where of ['state', 'system'] as const)
      it(`${name}, in the file of the ${where}`, (t) => {
        const { own, settingsFile, read, fault } = machine(t, { [where]: text })
        chmodSync(where === 'state' ? own : settingsFile, mode)
        if (says === null) return void read()
        assert.match(fault(), says)
        assert.doesNotMatch(fault(), /canary/)
      })

  it('a file of another user', { skip: !isRoot }, (t) => {
    const { own, fault } = machine(t, { state: '' })
    chownSync(own, 1234, 1234)
    assert.match(fault(), /belongs to user 1234, who could change the settings.*chown root/)
  })

  it('a link leads to the file that counts, and a folder is no file', (t) => {
    const { own, settingsFile, read, fault } = machine(t, { system: 'SVC_HTTP_PORT=5\n' })
    symlinkSync(settingsFile, own)
    assert.equal(read().port, 5)
    const other = machine(t, {})
    mkdirSync(other.own)
    assert.match(other.fault(), /is not a regular file/)
    chmodSync(settingsFile, 0o666)
    assert.match(fault(), /countersignd\.env/)
  })

  it(
    'a file that this user may not read does not apply, and is no fault',
    { skip: isRoot },
    (t) => {
      const { settingsFile, survey } = machine(t, { system: 'SVC_HTTP_PORT=x\n' })
      chmodSync(settingsFile, 0)
      const { faults, files } = survey()
      assert.deepEqual(faults, [])
      assert.deepEqual(
        files.map(({ state }) => state),
        ['absent', 'unreadable'],
      )
    },
  )
})

describe('what is read as systemd reads it', () => {
  const GENERATOR =
    '/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator'
  const lines: [line: string, value: string][] = [
    ['SVC_A = a b  ', 'a b'],
    ['SVC_A="x  y"', 'x  y'],
    ["SVC_A='q q'", 'q q'],
    ["SVC_A=it's # no comment", "it's # no comment"],
    ['SVC_A=a"b"c', 'a"b"c'],
    ['\tSVC_A=é=', 'é='],
    ['; SVC_A=1\n#SVC_A=2\nSVC_A=3', '3'],
    ['SVC_A=postgres://u:p%20w@h/d?x=1', 'postgres://u:p%20w@h/d?x=1'],
  ]
  for (const [text, value] of lines) {
    it(JSON.stringify(text), () => {
      const found = environmentLines(Buffer.from(`${text}\n`))
      assert.deepEqual(
        found?.map(({ name, value: read }) => [name, read]),
        [['SVC_A', value]],
      )
    })
    // This program of systemd prints what its parser of environment files read.
    it(
      `systemd reads the same in ${JSON.stringify(text)}`,
      { skip: !existsSync(GENERATOR) },
      (t) => {
        const dir = freshFolder(t)
        mkdirSync(join(dir, 'environment.d'))
        writeFileSync(join(dir, 'environment.d', 'x.conf'), `${text}\n`)
        const env = { HOME: dir, XDG_CONFIG_HOME: dir }
        const out = execFileSync(GENERATOR, { env, encoding: 'utf8' })
        const [, printed = ''] = /^SVC_A=(.*)$/m.exec(out) ?? []
        const isQuoted = printed.startsWith('"')
        assert.equal(isQuoted ? printed.slice(1, -1).replace(/\\(.)/g, '$1') : printed, value)
      },
    )
  }
})
