/**
 * A machine that two users share: the program where both may run it, a folder for each, and
 * processes under their uids.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { build } from 'esbuild'
import { ROOT } from '../e2e/program.ts'
import { TEST_LIMIT_MS } from '../limit.ts'
import { withoutWaiting } from '../waiting-line.ts'

/** Why these tests are skipped, or false. */
export const skip =
  process.platform !== 'linux'
    ? 'Linux only'
    : process.getuid?.() !== 0 && 'needs root, to be two other users'

/** The daemon’s user, the attacker, and a third user. None of them is root. */
export const ANN = 1234
export const EVE = 65_534
export const GUS = 4321

/**
 * Node passes its own value to child processes, and these users may not write into the coverage
 * folder.
 */
const UNCOUNTED = { NODE_V8_COVERAGE: undefined }

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly address: string
  readonly log: () => string
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

export interface Machine {
  /** A folder that every user may enter, like /tmp. */
  readonly shared: string
  /** Returns a folder of a user that others may enter and list. */
  home(uid: number): string
  /** Runs Node or another program as a user. */
  run(uid: number, command: string, args: readonly string[], input?: string): Promise<Ended>
  node(uid: number, script: string, args?: readonly string[]): Promise<Ended>
  /** Runs `countersignd …` as a user. */
  countersignd(
    uid: number,
    stateDir: string,
    args: readonly string[],
    env?: NodeJS.ProcessEnv,
  ): Promise<Ended>
  /** Starts `countersignd serve` as a user. */
  serve(uid: number, stateDir: string, env?: NodeJS.ProcessEnv): Promise<Started>
  /**
   * Starts a Node script as a user and waits for its first line; `received` returns its later
   * output, once that ends with `end`.
   */
  squat(
    uid: number,
    script: string,
    args: readonly string[],
  ): Promise<{ line: string; received: (end: string) => Promise<string> }>
  close(): Promise<void>
}

const LONGEST = { timeout: TEST_LIMIT_MS, killSignal: 'SIGKILL' } as const

/**
 * Bundles a program of the project into one file, for a place where its sources are not readable.
 */
export const bundle = (source: string, outfile: string): Promise<unknown> =>
  build({
    entryPoints: [join(ROOT, source)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    external: ['@napi-rs/keyring', 'pg-native'],
    supported: { 'dynamic-import': false },
    define: { 'import.meta.dirname': '__dirname', BUNDLED_VERSION: '"0.0.0"' },
    logLevel: 'error',
  })

/** Sets the machine up; `close` deletes everything on it. */
export async function openMachine(): Promise<Machine> {
  const shared = mkdtempSync(join(tmpdir(), 'countersign-shared-'))
  chmodSync(shared, 0o755)
  mkdirSync(join(shared, 'dist'))
  // The sources and this Node may lie where only root may read.
  const program = join(shared, 'dist/main.cjs')
  const node = join(shared, 'node')
  copyFileSync(process.execPath, node)
  chmodSync(node, 0o755)
  await bundle('src/main.ts', program)
  const running = new Set<ChildProcessByStdio<null, Readable, Readable>>()
  const environment = (stateDir: string, env: NodeJS.ProcessEnv) => ({
    SVC_STATE_DIR: stateDir,
    SVC_KEYCHAIN: 'file',
    SVC_HTTP_PORT: '0',
    SVC_ACCOUNT_PORT: '0',
    ...UNCOUNTED,
    ...env,
  })
  const who = (uid: number) => ({ uid, gid: uid, cwd: '/' })

  async function ended(
    uid: number,
    command: string,
    args: readonly string[],
    { input = '', env = {} }: { input?: string; env?: NodeJS.ProcessEnv } = {},
  ): Promise<Ended> {
    const child = spawn(command, args, {
      ...who(uid),
      env: { PATH: '/usr/bin:/bin', ...UNCOUNTED, ...env },
      ...LONGEST,
    })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.stdin.on('error', () => undefined).end(input)
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, stdout, stderr: withoutWaiting(stderr) }
  }

  /** Starts a lasting process and waits for its first line. */
  async function staying(uid: number, args: readonly string[], env: NodeJS.ProcessEnv) {
    const child = spawn(node, args, {
      ...who(uid),
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...LONGEST,
    })
    running.add(child)
    let [stdout, log] = ['', '']
    child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
    const closed = once(child, 'close') as Promise<[number | null]>
    await new Promise<void>((resolve, reject) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text
        if (stdout.includes('\n')) resolve()
      })
      void closed.then(([code]) => reject(new Error(`it ended with ${code}: ${log}`)))
    })
    const end = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
      running.delete(child)
      child.kill(signal)
      await closed
    }
    return { stdout: () => stdout, log: () => log, end }
  }

  return {
    shared,
    home(uid) {
      const path = mkdtempSync(join(shared, `home-${uid}-`))
      chownSync(path, uid, uid)
      chmodSync(path, 0o755)
      return path
    },
    run: (uid, command, args, input) => ended(uid, command, args, { input: input ?? '' }),
    node: (uid, script, args = []) => ended(uid, node, ['-e', script, ...args]),
    countersignd: (uid, stateDir, args, env = {}) =>
      ended(uid, node, [program, ...args], { env: environment(stateDir, env) }),
    async serve(uid, stateDir, env = {}) {
      const child = await staying(uid, [program, 'serve', '--json'], environment(stateDir, env))
      const { address } = JSON.parse(child.stdout()) as { address: string }
      return { address, log: child.log, end: child.end }
    },
    async squat(uid, script, args) {
      const child = await staying(uid, ['-e', script, ...args], {})
      const [line = ''] = child.stdout().split('\n')
      const received = async (end: string) => {
        while (!child.stdout().endsWith(end)) await setImmediate()
        return child.stdout().slice(line.length + 1)
      }
      return { line, received }
    },
    async close() {
      for (const child of running) {
        const closed = once(child, 'close')
        child.kill('SIGKILL')
        await closed
      }
      rmSync(shared, { recursive: true, force: true })
    },
  }
}
