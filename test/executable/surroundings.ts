/**
 * The surroundings of the executable that would change another program: its environment, a
 * signal, files beside it.
 */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { ask } from '../daemon.ts'
import { exec } from '../e2e/program.ts'
import { type Stage, newStage } from './stage.ts'

/** Writes a script that creates a file when it runs. */
function trap(stage: Pick<Stage, 'folder'>): { path: string; ran: () => boolean } {
  const [path, mark] = [join(stage.folder, 'evil.cjs'), join(stage.folder, 'evil-ran')]
  writeFileSync(path, `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')\n`)
  chmodSync(path, 0o644)
  return { path, ran: () => existsSync(mark) }
}

export async function noOptions(t: TestContext, executable: string): Promise<void> {
  const stage = newStage(t, executable)
  const { path, ran } = trap(stage)
  for (const options of [
    `--require=${path}`,
    `--import=${path}`,
    '--inspect-brk=127.0.0.1:0',
    '--no-such',
  ]) {
    Object.assign(stage.env, { NODE_OPTIONS: options })
    const { code, out, err } = await stage.run(['--version'])
    assert.deepEqual([code, err], [0, ''], options)
    assert.match(out, /^\d+\.\d+\.\d+/)
  }
  assert(!ran())
  // Node itself would have run it.
  await exec(process.execPath, [`--require=${path}`, '--eval', '0'])
  assert(ran())
}

/**
 * Returns the number of listening sockets of a process: of its descriptors, those that the kernel
 * lists as listening.
 */
function listenersOf(pid: number): number {
  const rows = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n'),
  )
  const listening = new Set(
    rows
      .map((row) => row.trim().split(/ +/))
      .filter((cells) => cells[3] === '0A')
      .map((cells) => cells[9]),
  )
  return readdirSync(`/proc/${pid}/fd`)
    .flatMap((fd) => /^socket:\[(\d+)\]$/.exec(linkAt(`/proc/${pid}/fd/${fd}`))?.[1] ?? [])
    .filter((inode) => listening.has(inode)).length
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

export async function noDebugger(t: TestContext, executable: string): Promise<void> {
  const stage = newStage(t, executable)
  const daemon = await stage.serve()
  assert.equal(listenersOf(daemon.pid), 2)
  for (let time = 0; time < 3; time++) {
    process.kill(daemon.pid, 'SIGUSR1')
    // Anything that the signal starts has started once a later request is answered.
    assert.equal((await ask(daemon.address, 'GET', '/health')).status, 200)
  }
  assert.equal(listenersOf(daemon.pid), 2)
  assert.doesNotMatch(daemon.log(), /debugger/i)
  assert.equal(await daemon.end(), 0)
}

/** Its keychain setting makes it load the addon; no keychain service answers. */
const UNANSWERED = { SVC_KEYCHAIN: 'os', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' }

async function requireUnreached(stage: Stage): Promise<void> {
  const { code, err } = await stage.run(['status'])
  assert.equal(code, EXIT.keychain, err)
  assert.match(err, /keychain cannot store a secret/)
}

export async function plantedModules(t: TestContext, executable: string): Promise<void> {
  const stage = newStage(t, executable, { env: UNANSWERED })
  const { path, ran } = trap(stage)
  const evil = readFileSync(path)
  for (const name of [
    'node_modules/@napi-rs/keyring/index.js',
    'node_modules/node:fs/index.js',
    'node_modules/hpke/index.js',
    'program.cjs',
    'lib/curves.cjs',
    'lib/hpke.cjs',
    'countersignd.cjs',
    'package.json',
  ]) {
    mkdirSync(join(stage.folder, name, '..'), { recursive: true })
    writeFileSync(join(stage.folder, name), evil)
  }
  Object.assign(stage.env, { NODE_PATH: join(stage.folder, 'node_modules') })
  await requireUnreached(stage)
  Object.assign(stage.env, { SVC_KEYCHAIN: 'file' })
  const made = await stage.run(['connection', 'create', '--name', 'Bank'])
  assert.equal(made.code, 0, made.err)
  assert(!ran())
}

export async function plantedAddon(t: TestContext, executable: string): Promise<void> {
  const stage = newStage(t, executable, { env: UNANSWERED })
  const temporary = join(stage.folder, 'tmp')
  mkdirSync(temporary)
  chmodSync(temporary, 0o777)
  const planted = ['keyring.node', 'keyring.linux-x64-gnu.node', 'countersignd.node']
  for (const name of planted) writeFileSync(join(temporary, name), 'no addon')
  Object.assign(stage.env, { TMPDIR: temporary, TMP: temporary, TEMP: temporary })
  await requireUnreached(stage)
  assert.deepEqual(
    readdirSync(temporary).toSorted(),
    planted.toSorted(),
    'nothing else was put there',
  )
  const left = readdirSync(stage.env['SVC_STATE_DIR'] as string)
  assert.deepEqual(
    left.filter((name) => name.endsWith('.node')),
    [],
  )
}
