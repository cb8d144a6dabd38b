/**
 * Tests the keychain of the operating system: present, locked and absent. Each case runs in a
 * separate environment.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { freshFolder } from './fresh-folder.ts'
import { bareEnvironment, noSession, notHere, session, unlocked } from './session.ts'

const script = (name: string): string => join(import.meta.dirname, name)

function run(command: readonly string[], env: NodeJS.ProcessEnv): string {
  const [program = '', ...rest] = command
  const { status, stdout, stderr } = spawnSync(program, rest, { env, encoding: 'utf8' })
  assert.equal(status, 0, `${stdout}\n${stderr}`)
  return stdout
}

const node = process.execPath
const open = (...steps: string[]): string[] => [node, script('open.ts'), ...steps]
const parsed = (stdout: string): unknown => JSON.parse(stdout)

test('the suite under a real gnome-keyring', { skip: noSession }, (t) => {
  const env = bareEnvironment(freshFolder(t))
  const report = run(unlocked(node, '--test-reporter=tap', script('os.session.ts')), env)
  assert.match(report, /^# pass 7$/m)
})

test(
  'a locked keyring is reported, and returns the secret after it is unlocked',
  { skip: noSession },
  (t) => {
    const env = bareEnvironment(freshFolder(t))
    const dir = freshFolder(t)
    const made = run(unlocked(...open(dir, 'auto', 'set:name=secret')), env)
    assert.deepEqual(parsed(made), { backend: 'os', answers: ['done'] })
    const locked = run(session(...open(dir, 'auto', 'get:name')), env)
    assert.deepEqual(parsed(locked), { backend: 'os', answers: ['keychain_locked'] })
    const again = run(unlocked(...open(dir, 'auto', 'get:name', 'get:other')), env)
    assert.deepEqual(parsed(again), { backend: 'os', answers: ['secret', null] })
  },
)

const record = (dir: string): void =>
  writeFileSync(
    join(dir, 'keychain.json'),
    JSON.stringify({ backend: 'os', store: '00'.repeat(16) }),
    { mode: 0o600 },
  )

test('recorded as os, without a bus: does not start', { skip: notHere }, (t) => {
  const dir = freshFolder(t)
  record(dir)
  const answer = parsed(run(open(dir, 'auto'), bareEnvironment(freshFolder(t))))
  assert.partialDeepStrictEqual(answer, { exit: EXIT.keychain })
  assert.match((answer as { message: string }).message, /no session bus.*user's session/)
})

test('recorded as os, with a dead bus: locked at the first use', { skip: notHere }, (t) => {
  const dir = freshFolder(t)
  record(dir)
  const env = {
    ...bareEnvironment(freshFolder(t)),
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${join(dir, 'nothing')}`,
  }
  const answer = parsed(run(open(dir, 'auto', 'get:a', 'set:a=b', 'delete:a'), env))
  const locked = 'keychain_locked'
  assert.deepEqual(answer, { backend: 'os', answers: [locked, locked, locked] })
})

test(
  'os chosen at the first start, without a bus: rejected, and not recorded',
  { skip: notHere },
  (t) => {
    const dir = freshFolder(t)
    const answer = parsed(run(open(dir, 'os'), bareEnvironment(freshFolder(t))))
    assert.partialDeepStrictEqual(answer, { exit: EXIT.keychain })
    assert.match((answer as { message: string }).message, /SVC_KEYCHAIN=file/)
    assert(!existsSync(join(dir, 'keychain.json')))
  },
)

test('auto at the first start, without a bus: sealed files', { skip: notHere }, (t) => {
  const dir = freshFolder(t)
  const answer = parsed(run(open(dir, 'auto', 'set:a=b', 'get:a'), bareEnvironment(freshFolder(t))))
  assert.deepEqual(answer, { backend: 'file', answers: ['done', 'b'] })
})
