/**
 * Runs `doctor` on an installation to break: checks its report, that it leaves no trace, and that
 * it prints no secret.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { memoryOf } from '../../src/cli/doctor/memory.ts'
import { type Running, folder, startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'
import { terminal } from './terminal.ts'

/**
 * Returns all that can be observed of a folder: names, modes, owners, times, contents. The index of
 * a write-ahead log is memory that all its readers write: its content and time are left out.
 */
export function traces(dir: string): string[] {
  if (!existsSync(dir)) return []
  const of = (path: string): string[] => {
    const stat = lstatSync(path)
    const { mode, uid, gid, mtimeMs, size, ino } = stat
    const content = stat.isFile() ? hash('sha256', readFileSync(path)) : ''
    const state = path.endsWith('-shm') ? [] : [mtimeMs, content]
    const line = [path, mode.toString(8), uid, gid, size, ino, ...state].join(' ')
    return [line, ...(stat.isDirectory() ? below(path) : [])]
  }
  const below = (path: string) =>
    readdirSync(path)
      .toSorted()
      .flatMap((name) => of(join(path, name)))
  return of(dir)
}

/** Returns the secret texts in a folder. */
function secretsIn(dir: string): string[] {
  return ['secret', 'keychain.key'].flatMap((name) => {
    const path = join(dir, name)
    return existsSync(path) && lstatSync(path).isFile() ? [readFileSync(path, 'utf8').trim()] : []
  })
}

export interface Examined {
  readonly code: number
  readonly checks: readonly Finding[]
}

/** Runs `doctor`. */
export async function examine(
  dir: string,
  env: NodeJS.ProcessEnv = {},
  canaries: readonly string[] = [],
): Promise<Examined> {
  const before = traces(dir)
  const run = terminal(dir)
  const script = await run(['doctor', '--json'], { env })
  // Without a message of its own, which would hide what differs.
  assert.deepEqual(traces(dir), before)
  assert.equal(script.err, '')
  for (const secret of [...secretsIn(dir), ...canaries])
    assert(secret === '' || !script.out.includes(secret), 'it told a secret')
  const { ok, checks } = JSON.parse(script.out) as { ok: boolean; checks: Finding[] }
  const isGood = checks.every(({ state }) => state !== 'fail')
  assert.deepEqual([ok, script.code], [isGood, isGood ? 0 : 1])
  for (const { state, name, found, remedy } of checks) {
    assert(found !== '', name)
    assert.equal(remedy === null, state === 'ok', `${name}: ${found}`)
  }
  return { code: script.code, checks }
}

/** An expected finding: its state and name, and patterns for its text and its remedy. */
export type Expected = readonly [
  state: Finding['state'],
  name: string,
  found: RegExp,
  remedy?: RegExp,
]

/** Returns the finding that matches; fails with every line of the report if none does. */
export function findingOf(
  checks: readonly Finding[],
  [state, name, found, remedy]: Expected,
): Finding {
  const one = checks.find(
    (it) =>
      it.state === state &&
      it.name === name &&
      found.test(it.found) &&
      (remedy === undefined || remedy.test(it.remedy ?? '')),
  )
  assert(one, `${state} ${name} ${found} ${remedy}\n${JSON.stringify(checks, null, 1)}`)
  return one
}

/**
 * Starts a daemon and waits until it is idle: it has synced after its stream of changes opened, and
 * its start is in the audit log.
 */
export async function startIdle(dir: string, env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const daemon = await startDaemon(dir, env)
  await until('the sync after a hint', () => memoryOf(dir).lastSync?.trigger === 'hint')
  await until('the start in the audit log', () => statSync(join(dir, 'audit.jsonl')).size > 0)
  return daemon
}

/** Creates the complete state folder of a daemon that ran and was stopped. */
export async function wholeFolder(): Promise<{ path: string; remove(): void }> {
  const whole = folder()
  const daemon = await startIdle(whole.path)
  await daemon.end('SIGTERM')
  return whole
}

/** Copies a state folder, so that a test can break the copy. */
export function copyOf(t: TestContext, whole: string): string {
  const dir = join(freshFolder(t), 'state')
  // With the modes of folders, which cpSync does not copy.
  execFileSync('cp', ['-a', whole, dir])
  return dir
}

/** Changes a database of a state folder, and leaves no write-ahead log. */
export function change(dir: string, file: string, sql: string, ...values: string[]): void {
  const db = new DatabaseSync(join(dir, file))
  if (values.length === 0) db.exec(sql)
  else db.prepare(sql).run(...values)
  db.close()
}
