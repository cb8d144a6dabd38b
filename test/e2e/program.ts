/**
 * Runs the program as a user does: a process of its own, configured by its environment and
 * observed by its streams.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TEST_LIMIT_MS } from '../limit.ts'
import { withoutWaiting } from '../waiting-line.ts'

export const ROOT = join(import.meta.dirname, '../..')
/** The built program. It is newer than the sources: the set-up of a run builds it (`setup.ts`). */
export const PROGRAM = join(ROOT, 'dist/countersignd.cjs')
/** Ends a daemon that answers an error which its row does not declare. */
const CHECK = join(import.meta.dirname, 'declared-errors.ts')

/** Creates a folder of mode 0700 for the run of a test file. */
export function folder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'countersign-e2e-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/**
 * Returns the environment of a program over a state folder: nothing of the desktop, any free
 * ports.
 */
export const environment = (stateDir: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  return {
    PATH,
    HOME,
    // So that it starts as fast as the process of the test.
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
    SVC_STATE_DIR: stateDir,
    SVC_KEYCHAIN: 'file',
    SVC_HTTP_PORT: '0',
    SVC_ACCOUNT_PORT: '0',
    ...more,
  }
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs any program to its end. */
export async function exec(
  command: string,
  args: readonly string[],
  { env = process.env, input = '' }: { env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Ended> {
  // A program that does not end is a failure, not an endless wait.
  const limit = { timeout: TEST_LIMIT_MS, killSignal: 'SIGKILL' } as const
  const child = spawn(command, args, { env, stdio: 'pipe', ...limit })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  // A program may end without reading its input.
  child.stdin.on('error', () => undefined).end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr: withoutWaiting(stderr) }
}

/** Runs `countersignd …` to its end. */
export const countersignd = (
  args: readonly string[],
  stateDir: string,
  { env = {}, input = '' }: { env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Ended> =>
  exec(process.execPath, [PROGRAM, ...args], { env: environment(stateDir, env), input })

export interface Child {
  /** The output until it was ready. */
  readonly stdout: string
  /** Returns the log so far. */
  log(): string
  /**
   * Sends a signal and waits for the end; returns the exit code, null if the signal ended the
   * process.
   */
  end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null>
}

export interface Running extends Child {
  readonly address: string
  readonly accountAddress: string
  readonly stateDir: string
}

/** Starts `countersignd …` and waits until its output ends with `ready`. */
export async function start(
  args: readonly string[],
  stateDir: string,
  env: NodeJS.ProcessEnv,
  ready: string,
): Promise<Child> {
  const child = spawn(process.execPath, ['--import', CHECK, PROGRAM, ...args], {
    env: environment(stateDir, env),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A limit for a process that a failed test leaves behind.
    timeout: TEST_LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  let [stdout, log] = ['', '']
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const closed = once(child, 'close') as Promise<[number | null]>
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.endsWith(ready)) resolve()
    })
    void closed.then(([code]) => reject(new Error(`it ended with ${code}: ${log}`)))
  })
  return {
    stdout,
    log: () => log,
    async end(signal) {
      child.kill(signal)
      const [code] = await closed
      return code
    },
  }
}

/** Starts `countersignd serve` and waits until it listens. */
export async function startDaemon(stateDir: string, env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const child = await start(['serve', '--json'], stateDir, env, '}\n')
  const ready = JSON.parse(child.stdout) as { address: string; account_address: string }
  return { ...child, stateDir, address: ready.address, accountAddress: ready.account_address }
}
